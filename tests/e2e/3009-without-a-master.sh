# SPDX-License-Identifier: Apache-2.0
# Runs without a master: in C and in Python, failed, killed and going on; looked at with
# --local, brought into a master, twice, in parts and damaged.
. "$(dirname "$0")/lib.sh"
need cc python3 jq
BUILD=$(cd "$(dirname "$DET")" && pwd)
ROOT=$(cd "$HERE/../.." && pwd)
RUNS=$DATA/offline

mkdir nobody
ok 'a folder without runs is told' det e list --local=nobody
says 'no offline runs in nobody'
ok 'a program is compiled' cc -O1 -Wall -I"$ROOT/include" -o train "$HERE/offline.c" \
    -L"$BUILD" -ldet -lm -Wl,-rpath,"$BUILD"

# ---- recorded, and what it prints is not changed

ok 'it runs without a master' ./train
says_line 'begins behind 0, terminal: no'
says 'the last words, without an end'
./train >plain.out 2>plain.err
DET_OFFLINE_DIR=$T/quiet DET_OFFLINE_LOGS=0 ./train >quiet.out 2>quiet.err
cmp -s plain.out quiet.out && cmp -s plain.err quiet.err
result $? 'what it prints is the same when nothing is kept of it'
[ -e "$RUNS" ] && [ ! -e quiet/logs ]
result $? 'as one may ask for'
fails 3 'one that fails has its exit code' ./train fail
DET_OFFLINE_DIR=$T/hung ./train hang >hung.out 2>&1 &
PID=$!
until_true grep -q 'last words' hung.out
ok 'one that runs is shown as such' det e describe 1 --local=hung
says 'RUNNING'
fails 5 'and is not imported' det import hung
says 'still running'
det e logs 1 --local=hung -f >followed.out 2>&1 &
FOLLOWER=$!
until_true grep -q 'nearly done' followed.out
kill -0 $FOLLOWER
result $? 'its output is followed while it runs'
slay $PID
wait $FOLLOWER
same 'to its end' '0 1' "$? $(grep -c 'the last words, without an end' followed.out)"
ok 'one that was killed, too' det e describe hung --local=hung
says 'ERROR'
ok 'what it printed last is there' det e logs 1 --local=hung
says 'the last words, without an end'

python3 - >terminal.out 2>&1 <<'END'
import os, pty
pid, fd = pty.fork()
if pid == 0:
    os.environ["DET_OFFLINE_DIR"] = "tty"
    os.execv("./train", ["./train"])
out = b""
while True:
    try:
        piece = os.read(fd, 4096)
    except OSError:
        break
    if not piece:
        break
    out += piece
os.waitpid(pid, 0)
print(out)
END
OUT=$T/terminal.out
says 'terminal: yes'
says 'nearly done'
says 'the last words'
OUT=$T/out

# ---- shown

ok 'they are listed' det e list --local
says 'COMPLETED'
says 'ERROR'
same 'by number' "1 2 3" "$(det e list --local --csv | tail -n +2 | cut -d, -f1 | xargs)"
NAME=$(det e list --local --csv | sed -n '2s/^1,\([^,]*\),.*/\1/p')
ok 'and by name' det e describe "$NAME" --local
says 'lr=0.25'
ok 'metrics are drawn' det e metrics 1 --local
says 'loss (training)'
ok 'a trial is shown' det trial describe 1 --local
says 'checkpoints  2'
ok 'its logs are filtered' det e logs 1 --local --level WARNING
says 'nearly done'
says_not 'begins behind'
UUID=$(det e list-checkpoints 1 --local --csv | tail -1 | cut -d, -f1)
ok 'a checkpoint is found' det checkpoint download "$UUID" --local -o fetched
same 'with its files' abc "$(cat fetched/weights)"
fails 4 'a run that is not there' det e describe 99 --local
says "there is no offline run '99'"
fails 2 'two masters at once' det e list --local -m http://127.0.0.1:1
[ ! -e "$DATA/master.json" ]
result $? 'no master was started for it'

# ---- brought into a master

# A root's master allows storage below its roots only.
printf 'checkpoint_storage_roots: ["%s"]\n' "$T" >roots.yaml
platform --config roots.yaml
ok 'all are imported' det import "$RUNS"
same 'each is an experiment' 3 "$(grep -c 'is experiment' "$OUT")"
ok 'a second time nothing is new' det import "$RUNS"
same 'of all' 3 "$(grep -c 'there is nothing new' "$OUT")"
det e metrics 1 --csv >there
det e metrics 1 --csv --local >here
cmp there here
result $? 'the metrics are the same'
[ "$(wc -l <there)" = 103 ]
result $? 'and all of them'
det e logs 1 >there
det e logs 1 --local >here
cmp there here && [ "$(wc -l <there)" = 3 ]
result $? 'the logs are the same'
same 'the states are' "$(det e list --local --csv | cut -d, -f1-4,6-8)" "$(det e list --csv | cut -d, -f1-4,6-8)"
ok 'the queue knows nothing of them' det job list
says 'empty'
fails 5 'nothing continues them' det e continue 1
says 'was not run here'

folder follow <<'END'
#!/bin/sh
det checkpoint restore here && cp here/weights . && det report --validation --steps 1 loss=1 && cat weights
END
ok 'a new experiment begins from an imported checkpoint' create follow --checkpoint "$UUID" -f
says '|| abc'

# ---- brought by many at once

ok 'one that many bring at once' env DET_OFFLINE_DIR="$T/wanted" ./train
PIDS=
for i in 1 2 3 4 5; do
    det import wanted >/dev/null 2>&1 &
    PIDS="$PIDS $!"
done
REFUSED=0
for pid in $PIDS; do wait "$pid" || REFUSED=$((REFUSED + 1)); done
same 'none of them fails' 0 $REFUSED
ok 'is there for who comes later' det import wanted
says 'there is nothing new'
same 'and is one experiment' 1 "$(det e list --csv | grep -c ',wanted,')"
WANTED=$(det e list --csv | sed -n 's/^\([0-9]*\),wanted,.*/\1/p')
same 'of one trial' 1 "$(det e list-trials "$WANTED" --csv | tail -n +2 | wc -l)"
same 'with all its batches' 100 "$(det e metrics "$WANTED" --csv -g training | tail -n +2 | wc -l)"
same 'and its checkpoints' 2 "$(det e list-checkpoints "$WANTED" --csv | tail -n +2 | wc -l)"

# ---- going on, after an import

ok 'a run in a folder of its own' env DET_OFFLINE_DIR="$T/mine" ./train
ok 'is imported' det import mine
says '104 reports'
ok 'goes on from its checkpoint' env DET_OFFLINE_DIR="$T/mine" ./train
says_line 'begins behind 100, terminal: no'
ok 'and brings the rest' det import mine
says 'has more for experiment'
says '104 reports'
MINE=$(sed -n 's/.*for experiment \([0-9]*\),.*/\1/p' "$OUT")
same 'all batches are there once' 200 "$(det e metrics "$MINE" --csv -g training | tail -n +2 | wc -l)"

# ---- a master that goes away in the middle

ok 'a long run' env DET_OFFLINE_DIR="$T/long" python3 -B - <<END
import sys
sys.path.insert(0, "$BUILD/pylib")
from determined import core
with core.init() as context:
    for step in range(1, 30001):
        context.train.report_training_metrics(step, {"loss": 1 / step, "step": step})
END
det import long >imported 2>&1 &
PID=$!
until_true sh -c 'det e list --csv | grep -q ",long,"'
slay "$(sed -n 's/.*"pid": *\([0-9]*\).*/\1/p' "$DATA/master.json")"
wait $PID
platform --config roots.yaml
ok 'an import that was interrupted is done again' det import long
LONG=$(det e list --csv | sed -n 's/^\([0-9]*\),long,.*/\1/p')
same 'it is one experiment' 1 "$(echo "$LONG" | wc -w)"
same 'and has everything once' 30000 "$(det e metrics "$LONG" --csv -n loss | tail -n +2 | wc -l)"
ok 'and it is over' is_state COMPLETED "$LONG"

# ---- damaged folders

fails 4 'a folder without a run' det import follow
says 'run.json'
fails 4 'one that is not there' det import nowhere
cp -r hung bent
printf '{' >bent/run.json
fails 8 'one whose run.json is damaged' det import bent
says 'is damaged'
cp -r hung hurt
jq '.uuid = "11111111-1111-4111-8111-111111111111"' hung/run.json >hurt/run.json
printf X | dd of="$(ls hurt/checkpoints/*/weights | head -1)" bs=1 conv=notrunc 2>/dev/null
ok 'one with a damaged checkpoint' det import hurt
says 'was not imported'
says '1 checkpoint'
cp -r hung cut
jq '.uuid = "22222222-2222-4222-8222-222222222222"' hung/run.json >cut/run.json
truncate -s 4096 cut/reports/segment-*
ok 'one whose reports are cut short' det import cut
says 'damaged'
det import --in-place --json hung >in-place 2>"$T/same"
result $? 'in place' "$T/same"
same 'its checkpoints are found where they were' "$T/hung/checkpoints" \
    "$(det e config "$(jq '.[0].experimentId' in-place)" --json | jq -r .checkpoint_storage.container_path)"

# ---- TensorBoard

mkdir board
cat >board/train.py <<'END'
from determined import core
with core.init() as context:
    context.train.report_training_metrics(1, {"loss": 0.5})
    (context.train.get_tensorboard_path() / "mine").write_text("x")
END
cat >board/const.yaml <<'END'
name: board
entrypoint: python3 train.py
searcher: {name: single, metric: loss}
max_restarts: 0
END
ok 'a trial of a cluster' create board -f
set -- "$DATA"/checkpoints/*/tensorboard/experiment/"$ID"/trial/*
same 'has its files beside its checkpoints' 1 $#
grep -q training/loss "$1"/events.out.tfevents.* && [ -e "$1/mine" ]
result $? 'and its numbers in them'
set -- mine/tensorboard/events.out.tfevents.*
same 'both runs wrote for TensorBoard' 2 $#
"$ROOT/tools/venv" "$BUILD/venv" >"$T/venv" 2>&1 || {
    sed 's/^/# /' "$T/venv"
    skip 'TensorBoard reads it' 'TensorBoard could not be installed'
    exit 0
}
cat >read.py <<'END'
import sys
from tensorboard.backend.event_processing import event_accumulator
found = event_accumulator.EventAccumulator(sys.argv[1], size_guidance={event_accumulator.SCALARS: 0})
found.Reload()
for tag in sorted(found.Tags()["scalars"]):
    points = found.Scalars(tag)
    print(tag, len(points), points[0].step, points[-1].step, round(points[-1].value, 4))
END
same 'TensorBoard reads them' 'training/loss 200 1 200 0.005
validation/loss 4 50 200 0.005' "$("$BUILD/venv/bin/python3" -W ignore read.py mine/tensorboard 2>/dev/null)"

# ---- what somebody wrote

mkdir odd
DET_OFFLINE_DIR=odd/length DET_EXPERIMENT_CONFIG='{"searcher": {"max_length": {"batchs": 4}}}' ./train >/dev/null 2>&1
DET_OFFLINE_DIR=odd/space DET_HPARAMS='{"model": {"type": "resnet"}}' DET_OFFLINE_LOGS=0 python3 - <<END
import sys
sys.path.append("$BUILD/pylib")
import determined as det
with det.core.init(checkpoint_storage="s3://bucket") as core_context:
    core_context.train.report_validation_metrics(7, {"loss": 0.5})
END
ok 'a configuration that nobody would take hides no run' det e list --local=odd
says 'length: shown without its configuration: '
says 'searcher.max_length'
same 'all are listed' 'length space ' "$(det e list --local=odd --csv 2>/dev/null | tail -n +2 | cut -d, -f2 | tr '\n' ' ')"
ok 'with their hyperparameters' det e list-trials space --local=odd
says 'model.type=resnet'
ok 'and are imported' det import odd
says 'length is experiment '
says 'space is experiment '
