# SPDX-License-Identifier: Apache-2.0
# A process that leaves everything it got from its task (its parents, session, environment and
# descriptors) still ends with the task, whoever dies first.
. "$(dirname "$0")/lib.sh"
need jq setsid
platform --slots 5
# Each run leaves a process that only its arguments tell from others.
folder leave <<END
#!/bin/sh
name=600.$$\$DET_EXPERIMENT_ID\$DET_TRIAL_RUN_ID
setsid env -i /bin/sh -c "exec <&- >&- 2>&-; sleep \$name & exit" &
wait
echo "\$DET_TRIAL_RUN_ID " >>"\$HOME/runs-\$DET_EXPERIMENT_ID"
until [ -e "\$HOME/end-\$DET_EXPERIMENT_ID" ]; do sleep 0.05; done
END
# escaped EXPERIMENT RUN: sets PID
escaped() {
    PID=$(echo "600.$$$1$2" | grep -lxzsF -f - /proc/[0-9]*/cmdline | cut -d/ -f3)
    [ -n "$PID" ]
}
none_escaped() { ! escaped "$1" "$2"; }
runs() { grep -q "^$2 " "$HOME/runs-$1"; }
agent_pid() { jq .pid "$DATA/agent/agent.json"; }
place() { ls -d "$DATA/agent/tasks/$1".*-0; }
supervisor() { jq -Rr 'fromjson? | .supervisor' "$(place "$1")/pid"; }
begin() {
    create leave >/dev/null
    soon "task $ID runs" runs "$ID" 1
    soon 'a process of it has left' escaped "$ID" 1
    same 'and has nothing of it in its environment' 0 "$(tr '\0' '\n' <"/proc/$PID/environ" | grep -c DET_)"
}
clean() { # after the death of a supervisor
    soon 'the trial starts again' runs "$ID" 2
    ok 'then nothing of its first run is left' none_escaped "$ID" 1
    touch "$HOME/end-$ID"
}

begin
kill -9 "$(supervisor "$ID")"
clean
begin
kill -9 "$(supervisor "$ID")" "$(agent_pid)"
clean
# Nothing in the directory says who belonged to the task.
begin
A=$(agent_pid)
kill -STOP "$A"
slay "$(supervisor "$ID")"
rm "$(place "$ID")/pid"
kill -CONT "$A"
clean
# Not even the directory is left.
begin
A=$(agent_pid)
kill -STOP "$A"
slay "$(supervisor "$ID")"
rm -rf "$(place "$ID")"
kill -CONT "$A"
clean
ok 'its second run ends by itself' det e wait "$ID" --timeout 120
ok 'with all that it started' none_escaped "$ID" 2
[ -z "${ONLY_KILLS-}" ] || exit 0

begin
ok 'the platform stops' det stop
ok 'and nothing of the task is left' none_escaped "$ID" 1

# Nobody is left who would look after it.
ok 'the platform starts again' det e list
begin
S=$(supervisor "$ID")
A=$(agent_pid)
slay "$(jq .pid "$DATA/master.json")"
slay "$A"
slay "$S"
ok 'a stop after master, agent and supervisor were killed' det stop
says_line 'stopped'
ok 'ends what they left' none_escaped "$ID" 1
