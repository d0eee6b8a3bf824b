# SPDX-License-Identifier: Apache-2.0
# An agent is killed: it comes back and finds its tasks, or never comes back.
. "$(dirname "$0")/lib.sh"
cat >master.yaml <<'END'
resource_pools:
  - pool_name: default
    agent_reconnect_wait: 6s
END
platform --no-agent --config master.yaml
agent() { # ID
    det agent run --id "$1" --slots 1 --data-dir "$T/agent-$1" >>"agent-$1.log" 2>&1 &
}
joined() { det agent list --csv | grep -q "^$1,.*,yes,yes,"; }
agent a
A=$!
soon 'an agent joins' joined a
folder wait <<'END'
#!/bin/sh
echo "run $DET_TRIAL_RUN_ID on $DET_AGENT_ID" | tee -a "$HOME/runs"
until [ -e "$HOME/end" ]; do sleep 0.05; done
echo "run $DET_TRIAL_RUN_ID ends"
END
create wait >/dev/null
soon 'a task runs' grep -q 'run 1 on a' "$HOME/runs"
kill -9 $A
wait $A 2>/dev/null
agent a
A=$!
soon 'an agent that was killed is there again' joined a
touch "$HOME/end"
ok 'its task was not disturbed' det e wait 1 --timeout 120
same 'it ran once' 1 "$(grep -c . "$HOME/runs")"
ok 'its log is whole' det t logs 1
says 'run 1 ends'

# It ends while no agent is there.
rm -f "$HOME/end" "$HOME/runs"
create wait >/dev/null
soon 'another runs' grep -q 'run 1 on a' "$HOME/runs"
kill -9 $A
wait $A 2>/dev/null
touch "$HOME/end"
ok 'a task may end while its agent is away' det e wait 2 --timeout 120
agent a
A=$!
soon 'the agent comes back' joined a

# It never comes back, nor does its task.
rm -f "$HOME/end" "$HOME/runs"
create wait >/dev/null
soon 'a third one runs' grep -q 'run 1 on a' "$HOME/runs"
agent b
B=$!
soon 'a second agent joins' joined b
# the machine is lost: the agent and everything it has started
for pid in $(ours); do
    case $(cat "/proc/$pid/cmdline" 2>/dev/null | tr '\0' ' ') in
    *"agent run --id a"* | *"task run $T/agent-a"* | *run.sh*) kill -9 "$pid" ;;
    esac
done
wait $A 2>/dev/null
soon 'the trial starts again elsewhere' grep -q 'run 2 on b' "$HOME/runs"
touch "$HOME/end"
ok 'and completes' det e wait 3 --timeout 120
same 'a lost agent is no failure of the trial' 0 "$(det e list-trials 3 --csv | sed -n 2p | cut -d, -f5)"
ok 'the lost agent is not listed as connected' sh -c '! det agent list --csv | grep -q "^a,.*,yes,yes,"'
kill -TERM $B
wait $B
