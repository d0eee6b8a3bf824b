# SPDX-License-Identifier: Apache-2.0
# det launch tensorflow and tensorflow_distributed, and their Python names: one process per node, TF_CONFIG
# for several, processors as replicas.  No TensorFlow is needed: what it would read is printed.
. "$(dirname "$0")/lib.sh"
need jq python3
unset TF_CONFIG C10D_PORT DET_LAUNCH DET_CPU_REPLICAS 2>/dev/null || true
cat >tell.sh <<'END'
#!/bin/sh
echo "launch=${DET_LAUNCH-} replicas=${DET_CPU_REPLICAS-none} chief=${DET_CHIEF_IP-none} $*"
echo "config=${TF_CONFIG-none}"
END
chmod +x tell.sh

# ---- alone

ok 'outside of a task the command runs as it is' det launch tensorflow -- ./tell.sh --my-arg 'a b'
says_line 'launch=tensorflow replicas=none chief=none --my-arg a b'
says_line 'config=none'
fails 7 'its exit code is ours' det launch tensorflow -- sh -c 'exit 7'
fails 137 'and so is its end by a signal' sh -c 'det launch tensorflow -- sh -c "kill -9 \$\$"'
fails 4 'a program that is not there' det launch tensorflow -- no-such-program
says "cannot start 'no-such-program'"
ok 'replicas can be asked for' det launch tensorflow_distributed -n 3 -- ./tell.sh
says_line 'launch=tensorflow_distributed replicas=3 chief=none '
ok 'slots that are processors are replicas' env DET_SLOT_IDS='[0, 4]' "$DET" launch tensorflow -- ./tell.sh
says_line 'launch=tensorflow replicas=2 chief=none '
mkdir -p gpu/info
echo '{"gpu_uuids": ["GPU-1", "GPU-2"]}' >gpu/info/resources.json
ok 'GPUs are not' env DET_RUN_DIR="$T/gpu" DET_SLOT_IDS='[0, 1]' "$DET" launch tensorflow_distributed -- ./tell.sh
says_line 'launch=tensorflow_distributed replicas=none chief=none '

# ---- one of several nodes

mkdir -p node/info
cat >node/info/rendezvous.json <<'END'
{"container_addrs": ["10.0.0.1", "fe80::2", "c"], "container_rank": 1, "container_slot_counts": [1, 1, 1]}
END
node() { env DET_RUN_DIR="$T/node" DET_SLOT_IDS='[0]' "$@"; }
ok 'one of several nodes knows the others' node "$DET" launch tensorflow -- ./tell.sh
says_line '[rank=1] launch=tensorflow replicas=none chief=10.0.0.1 '
says_line '[rank=1] config={"cluster":{"worker":["10.0.0.1:29400","[fe80::2]:29400","c:29400"]},"task":{"type":"worker","index":1}}'
ok 'the port is the task'"'"'s' node C10D_PORT=1234 "$DET" launch tensorflow -- ./tell.sh
says '"10.0.0.1:1234"'
ok 'or the one that is named' node C10D_PORT=1234 "$DET" launch tensorflow --port 77 -- ./tell.sh
says '"10.0.0.1:77"'
fails 2 'a port that is none' node C10D_PORT=x "$DET" launch tensorflow -- ./tell.sh
says "C10D_PORT is 'x'; expected a port"
fails 2 'replicas are those of one node' node "$DET" launch tensorflow -n 2 -- ./tell.sh
says 'this task has 3 nodes, and without GPUs each node is one replica: leave out --replicas, or use one node'
ok 'one replica is what each has' node "$DET" launch tensorflow -n 1 -- ./tell.sh
says_line '[rank=1] launch=tensorflow replicas=none chief=10.0.0.1 '
mkdir -p near/info
echo '{"container_addrs": ["a", "b", "a"], "container_rank": 2, "container_slot_counts": [1, 1, 1]}' >near/info/rendezvous.json
near() { env DET_RUN_DIR="$T/near" DET_SLOT_IDS='[0]' "$@"; }
ok 'nodes on one machine have ports of their own' near "$DET" launch tensorflow --port 65534 -- ./tell.sh
says '["a:65534","b:65534","a:65535"]'
fails 2 'which are ports, too' near C10D_PORT=65535 "$DET" launch tensorflow -- ./tell.sh
says 'the nodes on one machine need ports 65535 to 65536, but the highest port is 65535: choose a lower one with --port'
fails 5 'the one that fails is named' node "$DET" launch tensorflow -- sh -c 'echo last words >&2; exit 5'
says_line '[rank=1] last words'
says_line 'det: rank 1 exited with 5; the task ends with it'
fails 11 'tensorflow_distributed is for one node' node "$DET" launch tensorflow_distributed -- ./tell.sh
says "this task has 3 nodes, but 'det launch tensorflow_distributed' starts processes on one node only"
sed -i 's/"container_rank": 1/"container_rank": 3/' node/info/rendezvous.json
fails 2 'a node that is none of them' node "$DET" launch tensorflow -- ./tell.sh
says 'which of its 3 nodes'

# ---- by their Python names

BUILD=$(dirname "$DET")
if [ ! -e "$BUILD/pylib/determined/_det.abi3.so" ]; then
    skip 'launch layers have Python names' 'the Python package is not built'
    exit 0
fi
export PYTHONPATH="$BUILD/pylib"
echo 'import os, sys; print(os.environ["DET_LAUNCH"], os.environ.get("DET_CPU_REPLICAS"), sys.argv)' >train.py
ok 'a command behind the name' python3 -m determined.launch.tensorflow -- python3 train.py --my-arg1 --port 3
says_line "tensorflow None ['train.py', '--my-arg1', '--port', '3']"
ok 'also without --' python3 -m determined.launch.tensorflow --port 3 python3 train.py --x
says_line "tensorflow None ['train.py', '--x']"
ok 'a file is run with the interpreter' python3 -m determined.launch.tensorflow_distributed --replicas 2 train.py
says_line "tensorflow_distributed 2 ['train.py']"
ok 'help is that of the program' python3 -m determined.launch.tensorflow --help
says 'det launch tensorflow'
fails 2 'no command at all' python3 -m determined.launch.tensorflow
fails 2 'what is not built yet says so' python3 -m determined.launch.horovod train.py
says "determined: the launch layer 'horovod' is not built yet"
if command -v mpirun >/dev/null; then
    ok 'mpi too' python3 -m determined.launch.mpi -n 2 train.py
    says_line "[rank=1] mpi None ['train.py']"
fi
unset PYTHONPATH

# ---- in a task of two nodes

platform --no-agent
for agent in a b; do
    det agent run --id $agent --slots 2 --data-dir "$T/agent-$agent" >>"agent-$agent.log" 2>&1 &
    AGENTS="${AGENTS-} $!"
done
joined() { [ "$(det slot list --csv | sed 1d | grep -c .)" = 4 ]; }
soon 'two agents join' joined
mkdir script
cp train.py tell.sh script
cat >script/const.yaml <<'END'
name: both
entrypoint: python3 -m determined.launch.tensorflow -- ./tell.sh $C10D_PORT
resources: {slots_per_trial: 4}
searcher: {name: single, metric: loss}
max_restarts: 0
END
ok 'a trial over two nodes' create script -f
grep -o 'config=.*' "$OUT" | sort | sed 's/config=//' >configs
same 'has one process per node' 2 "$(grep -c . configs)"
same 'each of which is another worker' '0 1' "$(jq -r .task.index configs | xargs)"
same 'of the same two' 1 "$(jq -c .cluster configs | sort -u | grep -c .)"
same 'on the port of the allocation' "$(sed -n 's/.*chief=[^ ]* //p' "$OUT" | sort -u)" \
    "$(jq -r '.cluster.worker[0]' configs | sed 's/.*://' | sort -u)"
same 'which no two on one machine share' 2 "$(jq -r '.cluster.worker[]' configs | sort -u | grep -c .)"
says '[rank=1] || launch=tensorflow'
fails 2 'tensorflow_distributed is refused before it starts' create script -f \
    --config 'entrypoint=python3 -m determined.launch.tensorflow_distributed train.py'
says 'all slots must be on one agent'
says 'resources.is_single_node'
cat >script/model_def.py <<'END'
import determined

class Trial(determined.LegacyTrial):
    trial_controller_class = determined.TrialController

    def __init__(self, context):
        raise AssertionError("it is not made here")
END
fails 1 'and a class, which would be a process a slot' create script -f --config entrypoint=model_def:Trial
says "this task has 2 nodes, but 'det launch mpi' starts processes on one node only"
ok 'on one node it is a process with a replica a slot' create script -f --config resources.slots_per_trial=2 \
    --config 'entrypoint=python3 -m determined.launch.tensorflow_distributed train.py'
same 'exactly one' 1 "$(grep -c "tensorflow_distributed 2 \['train.py'\]" "$OUT")"
# shellcheck disable=SC2086 # several numbers
kill $AGENTS
wait
