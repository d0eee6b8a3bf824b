# SPDX-License-Identifier: Apache-2.0
# SIGKILL for the agent, again and again: its tasks do not notice.  While it is away their
# supervisors speak for it, however long that lasts, and learn what they must.
. "$(dirname "$0")/lib.sh"
cat >master.yaml <<'END'
resource_pools:
  - pool_name: default
    agent_reconnect_wait: 5s
END
platform --no-agent --config master.yaml
agent() { # ID [ARGS...]
    id=$1
    shift
    det agent run --id "$id" --slots 2 --data-dir "$T/agent-$id" "$@" >>"agent-$id.log" 2>&1 &
}
joined() { det agent list --csv | grep -q "^$1,.*,yes,yes,"; }
away() { det agent list --csv | grep -q "^$1,.*,no,"; }
folder work <<'END'
#!/bin/sh
echo "run $DET_TRIAL_RUN_ID on $DET_AGENT_ID" | tee -a "$HOME/runs"
n=0
until [ -e "$HOME/end-$DET_TRIAL_ID" ]; do
    n=$((n + 1))
    echo "line $n"
    sleep 0.02
done
echo "lines $n" >>"$HOME/ended"
exit "$(cat "$HOME/end-$DET_TRIAL_ID")"
END
agent a
A=$!
soon 'an agent joins' joined a
create work >/dev/null
create work >/dev/null
both() { [ "$(grep -c 'run 1 on a' "$HOME/runs" 2>/dev/null)" = 2 ]; }
soon 'two tasks run' both
for round in 1 2 3 4; do
    slay $A
    wait $A 2>/dev/null
    agent a
    A=$!
    soon "killed for the $round. time, the agent is back" joined a
done
echo 0 >"$HOME/end-1"
ok 'a task ends well' det e wait 1 --timeout 120
slay $A
wait $A 2>/dev/null
soon 'the end of a connection is noticed' away a
echo 3 >"$HOME/end-2"
fails 1 'one that fails while no agent is there is reported all the same' det e wait 2 --timeout 120
agent a
A=$!
soon 'the agent comes back' joined a
whole() { # TRIAL
    last=$(det t logs "$1" | sed -n 's/.*line \([0-9]*\)$/\1/p' | tail -1)
    [ "$last" -gt 5 ] && [ "$(seq 1 "$last")" = "$(det t logs "$1" | sed -n 's/.*line \([0-9]*\)$/\1/p')" ]
}
ok 'the log of the first has every line once' whole 1
ok 'and that of the second' whole 2
ok 'its exit code is known' sh -c 'det t logs 2 | grep -q "code 3"'
same 'none was started twice' 2 "$(grep -c . "$HOME/runs")"

# Away for longer than the master waits: a supervisor is heard, so nothing is lost.
folder quiet <<'END'
#!/bin/sh
echo "run $DET_TRIAL_RUN_ID on $DET_AGENT_ID as $$" >>"$HOME/quiet"
until [ -e "$HOME/quiet-end" ]; do sleep 0.05; done
END
create quiet >/dev/null
soon 'a task runs that says nothing' grep -q 'run 1 on a' "$HOME/quiet"
slay $A
wait $A 2>/dev/null
agent b
B=$!
soon 'another agent joins' joined b
sleep 11 # more than twice the wait
same 'the task was not started elsewhere' 1 "$(grep -c . "$HOME/quiet")"
ok 'its agent is still expected' away a
det e kill 3 >/dev/null 2>&1
fails 1 "a kill reaches it without its agent" det e wait 3 --timeout 120
says 'CANCELED'
set -- $(cat "$HOME/quiet")
soon 'and has its effect' is_dead "$6"

# The machine is lost, is believed to be, and comes back.
create quiet >/dev/null
soon 'another runs' grep -q 'run 1 on b' "$HOME/quiet"
agent a
A=$!
soon 'the first agent is back' joined a
pids=$(for pid in $(ours); do
    case $(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null) in
    *"agent run --id b"* | *"task run $T/agent-b"*) echo "$pid" ;;
    esac
done)
# shellcheck disable=SC2086
kill -STOP $pids # as if the cable were pulled
moved() { grep -q 'run 2 on a' "$HOME/quiet"; }
tries=0
until moved || [ $tries -ge 1600 ]; do
    tries=$((tries + 1))
    sleep 0.05
done
ok 'a machine that is not heard any more loses its tasks' moved
# shellcheck disable=SC2086
kill -CONT $pids
set -- $(grep 'run 1 on b' "$HOME/quiet")
soon 'back again, it is told to end what was given to another' is_dead "$6"
soon 'and is welcome' joined b
touch "$HOME/quiet-end"
ok 'the second run completes' det e wait 4 --timeout 120
same 'at no cost' 0 "$(det e list-trials 4 --csv | sed -n 2p | cut -d, -f5)"
kill -TERM $A $B
wait $A $B
ok 'an agent that is stopped signs off' grep -q 'agent a signs off' "$DATA/master.log"
ok 'without a word of warning' sh -c "! tail -n 3 agent-a.log | grep -q \"WARN\\|ERROR\""
