# SPDX-License-Identifier: Apache-2.0
# SIGKILL for master and agent together: tasks, their output, `logs -f` and `wait` continue with
# the next ones; also if the master comes back at another address.
. "$(dirname "$0")/lib.sh"
need jq
platform --slots 2
pid_of() { jq .pid "$1"; }
agent_pid() { pid_of "$DATA/agent/agent.json"; }
folder work <<'END'
#!/bin/sh
echo "run $DET_TRIAL_RUN_ID as $$" >>"$HOME/runs"
n=0
until [ -e "$HOME/end-$DET_TRIAL_ID" ]; do
    n=$((n + 1))
    echo "line $n"
    sleep 0.02
done
exit "$(cat "$HOME/end-$DET_TRIAL_ID")"
END
create work >/dev/null
create work >/dev/null
both() { [ "$(grep -c 'run 1' "$HOME/runs" 2>/dev/null)" = 2 ]; }
soon 'two tasks run' both
det t logs -f 1 >follow 2>follow.err &
FOLLOW=$!
det e wait 1 >wait.out 2>&1 &
WAIT=$!
soon 'a log is followed' grep -q 'line 3' follow
for round in 1 2 3; do
    A=$(agent_pid)
    M=$(pid_of "$DATA/master.json")
    kill -9 "$A" "$M"
    until_true is_dead "$M"
    until_true is_dead "$A"
    platform --slots 2
    last=$(sed -n 's/.*line //p' follow | tail -1)
    soon "killed for the $round. time, both are back and the log goes on" \
        sh -c "[ \"\$(sed -n 's/.*line //p' follow | tail -1)\" -gt $last ]"
done

# The second ends while both are away.
A=$(agent_pid)
M=$(pid_of "$DATA/master.json")
kill -9 "$A" "$M"
until_true is_dead "$M"
echo 4 >"$HOME/end-2"
until_true is_dead "$(sed -n 's/run 1 as //p' "$HOME/runs" | tail -1)"
platform --slots 2
fails 1 'a task that failed meanwhile has failed' det e wait 2 --timeout 120
ok 'with its exit code' sh -c 'det t logs 2 | grep -q "code 4"'

# The master comes back at another address: the agent tells the supervisors.
A=$(agent_pid)
M=$(pid_of "$DATA/master.json")
OLD=$(url)
kill -9 "$M"
until_true is_dead "$M"
PORT=$((20000 + $$ % 12000)) platform --slots 2
ok 'the address is another' test "$(url)" != "$OLD"
last=$(det t logs 1 | sed -n 's/.*line //p' | tail -1)
grows() { [ "$(det t logs 1 | sed -n 's/.*line //p' | tail -1)" -gt "$last" ]; }
soon 'the output of the task arrives there' grows
echo 0 >"$HOME/end-1"
ok 'and its end' det e wait 1 --timeout 120
kill $FOLLOW $WAIT 2>/dev/null
wait $FOLLOW $WAIT 2>/dev/null
whole() { # TRIAL
    det t logs "$1" | sed -n 's/.*line \([0-9]*\)$/\1/p' >got
    last=$(tail -1 got)
    [ "$last" -gt 5 ] && [ "$(seq 1 "$last")" = "$(cat got)" ]
}
ok 'the log of the first has every line once' whole 1
ok 'and that of the second' whole 2
ok 'who followed has seen each line once' sh -c \
    "sed -n 's/.*line //p' follow >seen; [ \"\$(seq 1 \$(tail -1 seen))\" = \"\$(cat seen)\" ]"
same 'none was started twice' 2 "$(grep -c . "$HOME/runs")"
