# SPDX-License-Identifier: Apache-2.0
# Two agents: slots, a trial over both, disabling and draining.
. "$(dirname "$0")/lib.sh"
need jq
platform --no-agent
agent() { # ID SLOTS
    det agent run --id "$1" --slots "$2" --data-dir "$T/agent-$1" >>"agent-$1.log" 2>&1 &
}
agent a 2
A=$!
agent b 2
B=$!
joined() { det agent list --csv | grep -q "^$1,.*,yes,yes,"; }
soon 'the first agent joins' joined a
soon 'the second agent joins' joined b
same 'four slots are listed' 4 "$(det slot list --csv | sed 1d | grep -c .)"

# A trial over both: one process a node, each knows the others.
folder gang <<'END'
#!/bin/sh
jq -c '[.container_rank, (.container_addrs | length), .container_slot_counts]' "$DET_RUN_DIR/info/rendezvous.json"
echo "node $DET_AGENT_ID has $DET_SLOT_IDS"
END
ok 'a trial of four slots runs over both' create gang -f --config resources.slots_per_trial=4
says '[0,2,[2,2]]'
says '[1,2,[2,2]]'
says 'node a has [0,1]'
says 'node b has [0,1]'
# One node of it fails: the others end too.
folder broken <<'END'
#!/bin/sh
[ "$DET_AGENT_ID" = a ] && exit 6
echo $$ >"$HOME/broken"
exec sleep 600
END
fails 1 'when one node fails the trial fails' create broken -f --config resources.slots_per_trial=4
says 'code 6'
soon 'the other node is ended' is_dead "$(cat "$HOME/broken" 2>/dev/null || echo 999999999)"

folder wait <<'END'
#!/bin/sh
echo "$DET_AGENT_ID" >"$HOME/on-$DET_EXPERIMENT_ID"
until [ -e "$HOME/end-$DET_EXPERIMENT_ID" ] || det preempted; do sleep 0.05; done
END
on() { [ "$(cat "$HOME/on-$1" 2>/dev/null)" = "$2" ]; }
queued() { det job list --csv | grep -q QUEUED; }

ok 'an agent is disabled' det -u admin agent disable a
ok 'a trial goes to the other' create wait --config resources.slots_per_trial=2
FIRST=$ID
soon 'and runs there' on "$FIRST" b
ok 'the next one' create wait --config resources.slots_per_trial=2
SECOND=$ID
soon 'waits' queued
ok 'until the agent is enabled' det -u admin agent enable a
soon 'and then runs there' on "$SECOND" a

ok 'an agent is drained' det -u admin agent disable b --drain
says_not 'det:'
ok 'what runs there goes on' is_state RUNNING "$FIRST"
touch "$HOME/end-$FIRST"
ok 'to its end' det e wait "$FIRST" --timeout 120
ok 'a new one' create wait --config resources.slots_per_trial=1
THIRD=$ID
soon 'waits' queued
ok 'the agent comes back' det -u admin agent enable b
soon 'and it runs there' on "$THIRD" b

ok 'disabling without drain' det -u admin agent disable b
soon 'moves what runs there away' sh -c "! det task list --csv | grep -q ',b,\|^$THIRD\..*RUNNING'"
ok 'enabling brings it back' det -u admin agent enable b
rm -f "$HOME/on-$THIRD"
ok 'a slot is disabled' det -u admin slot disable b 0
ok 'which the list shows' sh -c 'det slot list --csv | grep -q "^b,0,.*,no,"'
ok 'and enabled' det -u admin slot enable b 0
fails 4 'a slot that is not there is named' det -u admin slot disable b 9
says 'agent b has no slot 9'
fails 4 'an agent that is not there is named' det -u admin agent disable nobody
says 'no agent nobody'
touch "$HOME/end-$SECOND" "$HOME/end-$THIRD"
ok 'all come to their end' sh -c "det e wait $SECOND --timeout 120 && det e wait $THIRD --timeout 120"

fails 2 'what asks for more than there is is refused' create wait --config resources.slots_per_trial=64
says 'slots requested exceeds cluster capacity'
kill -TERM $A $B
wait $A $B
