# SPDX-License-Identifier: Apache-2.0
# A trial of several slots whose program may be unable to use several agents waits for one agent that is large
# enough; it is spread only if there is none, or if its configuration allows it.
. "$(dirname "$0")/lib.sh"
platform --no-agent
agent() { # ID SLOTS
    det agent run --id "$1" --slots "$2" --data-dir "$T/agent-$1" >>"agent-$1.log" 2>&1 &
    AGENTS="${AGENTS-} $!"
}
slots() { [ "$(det slot list --csv | sed 1d | grep -c .)" = "$1" ]; }
folder nodes <<'EOF'
#!/bin/sh
echo "$DET_AGENT_ID" >>"$HOME/on-$DET_EXPERIMENT_ID"
until [ -e "$HOME/end-$DET_EXPERIMENT_ID" ]; do sleep 0.05; done
EOF
on() { [ "$(sort "$HOME/on-$1" 2>/dev/null | xargs)" = "$2" ]; }
ends() { touch "$HOME/end-$1" && det e wait "$1" --timeout 120; }

agent a 1
agent b 1
soon 'two agents of one slot join' slots 2
ok 'a trial of two slots' create nodes --config resources.slots_per_trial=2
soon 'is spread, because no agent is large enough' on "$ID" 'a b'
ok 'and ends' ends "$ID"
fails 2 'a launcher that uses one agent is refused' create nodes --config resources.slots_per_trial=2 \
    --config 'entrypoint=det launch mpi -- true'
says 'resources.is_single_node'

agent c 2
soon 'an agent of two slots joins' slots 4
ok 'a trial of two slots' create nodes --config resources.slots_per_trial=2
LARGE=$ID
soon 'runs there' on "$LARGE" c
ok 'another one' create nodes --config resources.slots_per_trial=2
NEXT=$ID
says_why() { det e logs "$NEXT" | grep -q "waits until one agent of pool 'default' has 2 free slots; with resources.is_single_node: false"; }
soon 'says what it waits for' says_why
ok 'a third one may use several agents' create nodes --config resources.slots_per_trial=2 \
    --config resources.is_single_node=false
soon 'and does' on "$ID" 'a b'
ok '... to its end' ends "$ID"
ok 'while the second waits' is_state QUEUED "$NEXT"
ok 'until the first ends' ends "$LARGE"
soon 'and then runs there' on "$NEXT" c
ok 'to its end' ends "$NEXT"
# shellcheck disable=SC2086 # several numbers
kill $AGENTS
wait
