# SPDX-License-Identifier: Apache-2.0
# The PyTorch examples through a real master, and alone: training, a search, two slots, a job that predicts; and
# scripts of the 0.38 generation.  Shortened, on small drawn data.
IN_MEMORY=1
. "$(dirname "$0")/lib.sh"
need jq
DRAWN_DATA=320
need_tensorflow # and PyTorch
platform --slots 2
ROOT=$(cd "$HERE/../.." && pwd)

created() { sed -n 's/^Created experiment //p' "$OUT"; }
# The environment of the tests has PyTorch already.
unequip() { sed -i '/^environment:/d; /requirements: requirements.txt/d' "$@"; }
example() { # NAME CONFIGURATION [ARGS...]: submits it
    [ -d "$1" ] || cp -r "$ROOT/examples/$1" .
    unequip "$1/$2.yaml"
    name=$1
    file=$2
    shift 2
    det e create "$name/$file.yaml" "$name" --config max_restarts=0 "$@"
}
ends_well() {
    det e wait "$1" && return
    det e logs "$1" | tail -30
    return 1
}
trial_of() { det e list-trials "$1" --csv | sed -n '2s/,.*//p'; }
values() { det t metrics "$(trial_of "$1")" --csv -n "$2" | grep ",$3,$2," | cut -d, -f7; }
count() { values "$@" | wc -l | tr -d ' '; }
falls() { values "$1" "$2" "$3" | awk 'NR == 1 { first = $1 } { last = $1 } END { exit !(NR > 1 && last < first) }'; }
steps() { # EXPERIMENT: of its checkpoints
    det c list --experiment "$1" --json | jq -r '[.[].metadata.steps_completed] | sort | map(tostring) | join(" ")'
}

# All are submitted before anybody waits: two slots never idle.
ok "the document's search" example ones_pytorch grid
GRID=$(created)
cp -r "$ROOT/tests/python/torch/generation_038" .
cat >generation_038/trainer.yaml <<'END'
name: trainer
entrypoint: python3 trainer.py
hyperparameters: {lr: 0.1, global_batch_size: 8, nested: {width: 6}}
searcher: {name: single, metric: val_loss, max_length: {batches: 1}}
max_restarts: 0
END
ok 'a script of 0.38' det e create generation_038/trainer.yaml generation_038
TRAINER=$(created)
cat >generation_038/by_class.yaml <<'END'
name: by_class
entrypoint: by_class:LegacyTrial
hyperparameters: {lr: 0.01, global_batch_size: 8, last_epoch: 1}
data: {records: 40}
records_per_epoch: 40
searcher: {name: single, metric: val_loss, max_length: {batches: 50}}
min_validation_period: {batches: 5}
max_restarts: 0
END
ok 'a class of 0.38' det e create generation_038/by_class.yaml generation_038
CLASS=$(created)

ok 'the search is done' ends_well "$GRID"
same '... with three trials' 3 "$(det e list-trials "$GRID" --json | jq length)"
same '... each validated in each of 20 epochs' 20 "$(count "$GRID" loss validation)"
ok '... and it learns' falls "$GRID" loss validation
ok 'the script of 0.38 is trained' ends_well "$TRAINER"
same '... and saved as it says' '5 8 10 15 16' "$(steps "$TRAINER")"
ok 'the class of 0.38 is trained' ends_well "$CLASS"
same '... until it asks for the end' '5 10' "$(steps "$CLASS")"
for each in mnist_pytorch/const mnist_pytorch/search gan_pytorch/const gan_pytorch/search; do
    ok "$each is an experiment" det config check "$ROOT/examples/$each.yaml"
done

# ---- the document's job: a trained model at work

cd ones_pytorch || exit 99
unequip batch_inference.yaml
TRIAL=$(trial_of "$GRID")
ok "the document's job" det job run batch_inference.yaml . -f --config data.trial_id="$TRIAL" --config data.output="$T/one.pt"
says 'predicted 64 values, the first is '
says 'is COMPLETED'
ok 'it says the same on two slots' det job run batch_inference.yaml . -f --config data.trial_id="$TRIAL" \
    --config data.output="$T/two.pt" --config resources.slots=2 --config data.batch_size=5
says 'predicted 64 values, the first is '
ok '... to the bit' python3 -c "import torch; assert torch.equal(*(torch.load(f'$T/{name}.pt') for name in ('one', 'two')))"
cat >batch_inference.py <<'END'
import determined as det
import determined.pytorch
from train import OneVarPytorchTrial

context = det.pytorch.init()
try:
    context.training
except AttributeError as error:
    print("no training:", error)
context.load_checkpoint_trial(OneVarPytorchTrial, trial_id=context.config_data["trial_id"])
END
fails 1 'what is not there is named' det job run batch_inference.yaml . -f --config data.trial_id=99
says 'no training: context.training does not exist'
says 'trial 99'
cd .. || exit 99

# ---- two slots

ok 'the digits on two slots' example mnist_pytorch distributed --config searcher.max_length.epochs=1 \
    --config hyperparameters.filters1=4 --config hyperparameters.filters2=4
ID=$(created)
ok '... are learned' ends_well "$ID"
same '... in as many batches as on one' 5 "$(steps "$ID")"
ok '... from drawn digits, which it says' sh -c "det e logs $ID | grep 'drawn digits take the place of the train pictures'"
ok 'two networks on two slots' example gan_pytorch distributed --config searcher.max_length.batches=10 \
    --config min_validation_period.batches=5 --config min_checkpoint_period.batches=5 --config hyperparameters.width=32
ID=$(created)
ok '... are trained' ends_well "$ID"
same '... and validated' 2 "$(count "$ID" generator_loss validation)"
same '... and saved' '5 10' "$(steps "$ID")"
ok 'the document on two slots' example ones_pytorch distributed
ID=$(created)
ok '... is trained' ends_well "$ID"
ok '... and learns' falls "$ID" loss validation
UUID=$(det c list --experiment "$TRAINER" --json | jq -r 'max_by(.metadata.steps_completed).uuid')
ok 'a checkpoint is fetched' det c download "$UUID" -o checkpoint
cat >generation_038/process.yaml <<END
name: process
entrypoint: python3 process.py
environment: {environment_variables: [CHECKPOINT=$T/checkpoint]}
resources: {slots_per_trial: 2}
searcher: {name: single, metric: none}
max_restarts: 0
END
ok 'batches are processed on two slots' det e create generation_038/process.yaml generation_038
ID=$(created)
ok '... all of them' ends_well "$ID"
same '... with checkpoints' '2 4' "$(steps "$ID")"
same '... counted over both' 30 "$(values "$ID" count inference | awk '{ sum += $1 } END { print sum }')"

# ---- alone

cd "$ROOT/examples/ones_pytorch" || exit 99
export PYTHONPATH="$build/pylib" DET_OFFLINE_DIR="$T/alone" PYTHONDONTWRITEBYTECODE=1
ok 'the document trains alone' python3 train.py
ok '... with what const.yaml says' sh -c 'det t describe 1 --local="$DET_OFFLINE_DIR" --json | jq -e ".[0].hparams.learning_rate == 0.1"'
sed "s|/tmp/predictions.pt|$T/alone.pt|" batch_inference.yaml >"$T/job.yaml"
ok '... and predicts alone' env DET_CONFIG="$T/job.yaml" python3 batch_inference.py
says 'predicted 64 values'
