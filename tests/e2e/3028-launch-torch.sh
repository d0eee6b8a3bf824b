# SPDX-License-Identifier: Apache-2.0
# det launch torch_distributed and its Python name: one process per slot with torchrun's environment, on one node
# and on several, signals, and the one that fails.  No PyTorch is needed: what it would read is printed.
. "$(dirname "$0")/lib.sh"
unset C10D_PORT DET_LAUNCH OMP_NUM_THREADS GLOO_SOCKET_IFNAME 2>/dev/null || true
cat >tell.sh <<'END'
#!/bin/sh
echo "$RANK of $WORLD_SIZE, $LOCAL_RANK of $LOCAL_WORLD_SIZE, $GROUP_RANK of $GROUP_WORLD_SIZE, $CROSS_RANK of $CROSS_SIZE $*"
echo "meets at $MASTER_ADDR:$MASTER_PORT, chief ${DET_CHIEF_IP-none}"
echo "$DET_LAUNCH $USE_TORCH_DISTRIBUTED role $ROLE_NAME $ROLE_RANK of $ROLE_WORLD_SIZE threads ${OMP_NUM_THREADS-as usual}"
echo "run $TORCHELASTIC_RUN_ID restart $TORCHELASTIC_RESTART_COUNT of $TORCHELASTIC_MAX_RESTARTS, agent ${TORCHELASTIC_USE_AGENT_STORE-none}"
echo "talks through ${GLOO_SOCKET_IFNAME-any}" >&2
END
chmod +x tell.sh
# One that does not listen is killed after a while; looked at in the end.
: >deaf
det launch torch_distributed -n 2 -- sh -c '[ "$RANK" = 0 ] || { until [ -e deaf.ready ]; do sleep 0.05; done; exit 9; }
trap : TERM; sleep 601 & : >deaf.ready; while :; do sleep 0.05; done' >deaf 2>&1 &
DEAF=$!

# ---- ranks and their environment

fails 2 'without a task it wants to know how many' det launch torch_distributed -- true
says 'give -n N'
ok 'three processes' env C10D_PORT=1234 TORCHELASTIC_USE_AGENT_STORE=True "$DET" launch torch_distributed -n 3 -- ./tell.sh --my-arg 'a b'
says_line '[rank=0] 0 of 3, 0 of 3, 0 of 1, 0 of 1 --my-arg a b'
says_line '[rank=2] 2 of 3, 2 of 3, 0 of 1, 0 of 1 --my-arg a b'
says_line '[rank=1] meets at 127.0.0.1:1234, chief none'
says_line '[rank=1] torch_distributed True role default 1 of 3 threads 1'
says_line '[rank=1] run none restart 0 of 0, agent none'
says_line '[rank=1] talks through any'
ok 'one has all processors, and its threads are the user'"'"'s' det launch torch_distributed -n 1 -- ./tell.sh
says_line '[rank=0] torch_distributed True role default 0 of 1 threads as usual'
ok 'the user says how many threads' env OMP_NUM_THREADS=3 "$DET" launch torch_distributed -n 2 -- ./tell.sh
says 'threads 3'
ok 'slots of a task are counted' env DET_ALLOCATION_ID=7.1 DET_SLOT_IDS='[0, 4]' "$DET" launch torch_distributed -- ./tell.sh
says_line '[rank=1] 1 of 2, 1 of 2, 0 of 1, 0 of 1 '
says_line '[rank=1] run 7.1 restart 0 of 0, agent none'
port() { det launch torch_distributed -n 1 -- sh -c 'echo $MASTER_PORT'; }
ok 'a port is found' port
says '[rank=0] '
says_not '29400'
fails 2 'a port that is none' env C10D_PORT=x "$DET" launch torch_distributed -n 1 -- true
says "C10D_PORT is 'x'; expected a port"
ok 'options behind -- are those of the command' det launch torch_distributed -n 1 -- echo -n 5 --nnodes
says_line '[rank=0] 5 --nnodes'

# ---- several nodes

mkdir -p node/info
cat >node/info/rendezvous.json <<'END'
{"container_addrs": ["10.0.0.1", "10.0.0.2", "10.0.0.3"], "container_rank": 1, "container_slot_counts": [3, 2, 1]}
END
node() { env DET_RUN_DIR="$T/node" DET_SLOT_IDS='[0, 1]' "$@"; }
ok 'ranks go on from node to node, whatever each has' node "$DET" launch torch_distributed -- ./tell.sh
says_line '[rank=3] 3 of 6, 0 of 2, 1 of 3, 1 of 3 '
says_line '[rank=4] 4 of 6, 1 of 2, 1 of 3, 1 of 3 '
says_line '[rank=4] meets at 10.0.0.1:29400, chief 10.0.0.1'
ok 'by the port and the interface of the task' node C10D_PORT=77 DET_INTER_NODE_NETWORK_INTERFACE=ib0 "$DET" launch torch_distributed -- ./tell.sh
says_line '[rank=3] meets at 10.0.0.1:77, chief 10.0.0.1'
says_line '[rank=3] talks through ib0'
ok 'as many on each where it is said' node "$DET" launch torch_distributed -n 4 -- ./tell.sh
says_line '[rank=7] 7 of 12, 3 of 4, 1 of 3, 1 of 3 '
ok 'outside of tasks nodes are named' det launch torch_distributed -n 1 --nnodes 2 --node-rank 1 --master-addr there --master-port 5 -- ./tell.sh
says_line '[rank=1] 1 of 2, 0 of 1, 1 of 2, 1 of 2 '
says_line '[rank=1] meets at there:5, chief there'
fails 2 'which one must be said' det launch torch_distributed -n 1 --nnodes 2 -- true
says 'the rank of this node among 2 is unknown: give --node-rank N'
fails 2 'and where the first is' det launch torch_distributed -n 1 --nnodes 2 --node-rank 0 -- true
says 'give --master-addr HOST'
fails 2 'a node that is none of them' det launch torch_distributed -n 1 --nnodes 2 --node-rank 2 -- true
says '--node-rank is 2; with 2 nodes, expected 0 to 1'

# ---- failures

fails 7 'a rank that fails ends all' det launch torch_distributed -n 3 -- sh -c '[ "$RANK" != 1 ] || exit 7; sleep 600'
says_line 'det: rank 1 exited with 7; all ranks are ended'
says_not 'det: rank 0'
fails 137 'a rank that is killed too' det launch torch_distributed -n 3 -- sh -c '[ "$RANK" != 2 ] || kill -9 $$; sleep 600'
says_line 'det: rank 2 was killed by signal 9 (Killed); all ranks are ended'
fails 5 'the cause is read before what it brings about' det launch torch_distributed -n 2 -- sh -c '
[ "$RANK" != 1 ] || { until [ -e effect.ready ]; do sleep 0.05; done; echo the cause; exit 5; }
trap "echo its effect; exit 1" TERM; : >effect.ready; while :; do sleep 0.05; done'
same 'and both are' 'the cause, its effect' "$(sed -n 's/^\[rank=.\] \(the cause\|its effect\)/\1/p' "$OUT" | paste -sd, | sed 's/,/, /')"
fails 4 'a program that is not there' det launch torch_distributed -n 2 -- no-such-program
says "det: cannot start 'no-such-program'"
ok 'one that has done its part does not end the others' det launch torch_distributed -n 2 -- sh -c '[ "$RANK" = 0 ] || exit 0; until [ ! -d /proc/$PPID ] || [ -e done.1 ]; do : >done.1; done; echo goes on'
says_line '[rank=0] goes on'

# ---- signals

launch() {
    : >ranks
    det launch torch_distributed -n 2 -- sh -c "$1; echo ready; while :; do sleep 0.05; done" >ranks 2>&1 &
    LAUNCH=$!
    until_true sh -c '[ "$(grep -c ready ranks)" = 2 ]'
}
launch 'trap "echo heard it; exit 0" USR1'
kill -USR1 "$LAUNCH"
wait "$LAUNCH"
same 'a signal is handed on' 0 $?
same 'to every rank' 2 "$(grep -c 'heard it' ranks)"
launch 'trap "echo ends >told.\$RANK; exit 0" TERM'
kill -TERM "$LAUNCH"
wait "$LAUNCH"
same 'the wish to end reaches every rank' 2 "$(cat told.* | grep -c ends)"
launch :
kill -HUP "$LAUNCH"
wait "$LAUNCH"
same 'and their end by it is told' 129 $?
wait "$DEAF"
same 'one that does not listen is killed, with what it started' 9 $?
same 'and the one that failed is named' 'det: rank 1 exited with 9; all ranks are ended' "$(cat deaf)"
launch :
slay "$LAUNCH"
wait "$LAUNCH" 2>/dev/null
soon 'ranks do not outlive the one who launched them' is_alone

# ---- by its Python name

BUILD=$(dirname "$DET")
if [ ! -e "$BUILD/pylib/determined/_det.abi3.so" ] || ! command -v python3 >/dev/null; then
    skip 'it has a Python name' 'the Python package is not built'
    exit 0
fi
export PYTHONPATH="$BUILD/pylib"
echo 'import os, sys; print(os.environ["DET_LAUNCH"], os.environ["RANK"], sys.argv)' >train.py
torch() { python3 -m determined.launch.torch_distributed "$@"; }
ok 'a command behind the name' torch --nproc_per_node 2 -- python3 train.py --my-arg1 --nnodes 3
says_line "[rank=1] torch_distributed 1 ['train.py', '--my-arg1', '--nnodes', '3']"
export DET_SLOT_IDS='[0]'
ok 'also without --, and a file is run with the interpreter' torch --nproc-per-node=auto --max_restarts=0 --standalone train.py --x
says_line "[rank=0] torch_distributed 0 ['train.py', '--x']"
says_line "determined: torchrun's --max-restarts has no effect here"
fails 2 'a trial by its class' torch -- --trial nowhere:Trial
says "[rank=0] determined: the entrypoint names the module 'nowhere'"
cat >group.py <<'END'
from determined import core
with core.DistributedContext.from_torch_distributed() as ranks:
    print(ranks.rank, ranks.cross_rank, ranks.local_rank, ranks.allgather(ranks.rank), ranks.allgather_local(ranks.rank))
END
ok 'they are one group' det launch torch_distributed -n 2 -- python3 group.py
says_line '[rank=1] 1 0 1 [0, 1] [0, 1]'
export DET_DISTRIBUTED_SECRET=secret INTER_TRAIN_PROCESS_COMM_PORT_1
INTER_TRAIN_PROCESS_COMM_PORT_1=$(python3 -c 'import socket; print(socket.create_server(("", 0)).getsockname()[1])')
part() { det launch torch_distributed -n "$1" --nnodes 2 --node-rank "$2" --master-addr 127.0.0.1 -- python3 group.py; }
part 1 0 >first 2>&1 &
ok 'also on two nodes' part 1 1
says_line '[rank=1] 1 1 0 [0, 1] [1]'
wait $!
same 'both of them' '[rank=0] 0 0 0 [0, 1] [0]' "$(cat first)"
