# SPDX-License-Identifier: Apache-2.0
# PyTorch trials through a real master: the script of the Trainer API's document with its grid, today's form of it, paused
# and gone on with, and trials by their class, with what is wrong with them.
IN_MEMORY=1
. "$(dirname "$0")/lib.sh"
need_torch
platform --slots 2

submit() { # FOLDER CONFIG: $ID is the experiment
    (cd "$1" && det experiment create "$2" .) >"$T/created" 2>&1
    code=$?
    cat "$T/created"
    ID=$(sed -n 's/^Created experiment //p' "$T/created")
    return $code
}
ends_well() {
    det e wait "$1" && return
    det e logs "$1" | tail -40
    return 1
}
trials_of() { det e list-trials "$1" --csv | sed -n '2,$s/,.*//p'; }
trial_of() { trials_of "$1" | head -1; }
last() { det t metrics "$1" --csv | grep ",$2,$3," | tail -1 | cut -d, -f"$4"; } # TRIAL GROUP NAME FIELD
patiently() { until_true "$@" || until_true "$@" || until_true "$@"; } # PyTorch takes its time to load

# ---- the document's script, repaired where it could not run: pytorch.TorchData is imported, self.model(data)

mkdir seed
cat >seed/train.py <<'END'
import torch
from torch import nn

import determined as det
import determined.pytorch
from determined import pytorch

class OnesDataset(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        # return data, labels
        return torch.Tensor([1.0]), torch.Tensor([1.0])

class OneVarPytorchTrial(det.pytorch.PyTorchTrial):
    def __init__(self, context):
        self.context = context
        self.model = context.wrap_model(nn.Linear(1, 1, False))
        lr = context.hparams["learning_rate"]
        self.opt = context.wrap_optimizer(
            torch.optim.SGD(self.model.parameters(), lr=lr)
        )

    def train_batch(self, batch, epoch_idx, batch_idx):
        data, labels = batch
        preds = self.model(data)
        loss = torch.nn.MSELoss()(preds, labels)
        self.context.backward(loss)
        self.context.step_optimizer(self.opt)
        return {"loss": loss}

    def evaluate_batch(self, batch: pytorch.TorchData):
        data, labels = batch
        preds = self.model(data)
        loss = torch.nn.MSELoss()(preds, labels)
        return {"loss": loss}

if __name__ == "__main__":
    context = det.pytorch.init()
    hparams = context.training.hparams
    global_batch_size = context.training.hparams["global_batch_size"]
    batch_size = context.distributed.shard_batch_size(global_batch_size)
    train_data = det.pytorch.DataLoader(OnesDataset(), batch_size)
    val_data = det.pytorch.DataLoader(OnesDataset(), batch_size)
    my_trial = context.build_trial(OneVarPytorchTrial)
    metrics = context.train(
        my_trial,
        train_data,
        val_data,
        min_validation_period=det.Epochs(1),
        min_checkpoint_period=det.Epochs(1),
        # ignored by cluster training, but honored used when training locally
        max_length=det.Epochs(10),
    )
    print("final metrics", sorted(metrics))
END
cat >seed/grid.yaml <<'END'
entrypoint_script: python3 train.py
hyperparameters:
    learning_rate: 0.1
    global_batch_size:
        type: categorical
        vals: [16, 32, 64]
searcher:
    name: "grid"
    max_length:
        epochs: 20
END
ok 'the grid of the document is created' submit seed grid.yaml
SEED=$ID

# ---- today's form, in the meantime

mkdir today
cat >today/train.py <<'END'
import os
import sys
import time

sys.path.insert(0, ".")
import torch
from model_def import Trial

import determined as det

with det.pytorch.init() as train_context:
    trial = Trial(train_context)
    trainer = det.pytorch.Trainer(trial, train_context)
    info = det.get_cluster_info()
    trainer.fit(
        max_length=det.pytorch.Epoch(6),
        validation_period=det.pytorch.Epoch(1),
        checkpoint_period=det.pytorch.Epoch([3]),
        reporting_period=det.pytorch.Batch(4),
        latest_checkpoint=info.latest_checkpoint,
        checkpoint_policy="none",
    )
END
cat >today/model_def.py <<'END'
import os
import time

import torch
from torch import nn

from determined import pytorch

X = torch.linspace(0, 1, 48).reshape(12, 4)

class Trial(pytorch.PyTorchTrial):
    def __init__(self, context):
        self.context = context
        self.model = context.wrap_model(nn.Linear(4, 1))
        self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.01))
        self.seen = 0

    def train_batch(self, batch, epoch_idx, batch_idx):
        if batch_idx == 10 and not os.path.exists(self.context.get_hparam("gate")):
            open(self.context.get_hparam("gate"), "w").close()
            while not self.context._core.preempt.should_preempt():
                time.sleep(0.05)
        loss = self.model(batch[0]).pow(2).mean()
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        return {"loss": loss, "index": batch_idx}

    def evaluate_batch(self, batch):
        return {"validation_loss": self.model(batch[0]).pow(2).mean()}

    def build_training_data_loader(self):
        return pytorch.DataLoader(torch.utils.data.TensorDataset(X), batch_size=3, shuffle=True)

    build_validation_data_loader = build_training_data_loader

class Broken(Trial):
    def train_batch(self, batch, epoch_idx, batch_idx):
        return {"loss": batch["image"]}

class Unfinished(pytorch.PyTorchTrial):
    def __init__(self, context):
        pass
END
cat >today/const.yaml <<END
entrypoint: python3 train.py
hyperparameters: {gate: $T/gate}
searcher: {name: single, metric: validation_loss}
max_restarts: 0
END
ok "today's form is created" submit today const.yaml
TODAY=$ID

ok 'the grid ends' ends_well "$SEED"
same '... with a trial for each batch size' 3 "$(trials_of "$SEED" | wc -l)"
wanted=
for trial in $(trials_of "$SEED"); do
    wanted="$wanted $(last "$trial" validation loss 3)"
done
same '... as long as the searcher says: 20 epochs, not 10' '20 40 80' "$(echo "$wanted" | tr ' ' '\n' | sort -n | xargs)"
ok '... and the metrics came back' sh -c "det t logs $(trial_of "$SEED") | grep -F \"final metrics ['loss']\""

ok 'it trains to the middle of an epoch' patiently test -f gate
ok '... where it is paused' det e pause "$TODAY"
soon '... and saves' is_state PAUSED "$TODAY"
ok '... and goes on' det e activate "$TODAY"
ok '... to its end' ends_well "$TODAY"
TRIAL=$(trial_of "$TODAY")
same '... with every batch once: means of four' '1.5 5.5 9.5 13.5 17.5 21.5' \
    "$(det t metrics "$TRIAL" --csv | grep ',training,index,' | cut -d, -f7 | xargs)"
same '... validated after each epoch' '4 8 12 16 20 24' \
    "$(det t metrics "$TRIAL" --csv | grep ',validation,validation_loss,' | cut -d, -f3 | xargs)"
det e logs "$TODAY" >"$OUT"
says 'continuing after 11 batches, 2 epochs'

# ---- by class

sed 's/python3 train.py/model_def:Broken/; s/{name: single.*/{name: single, metric: validation_loss, max_length: {batches: 4}}/' \
    today/const.yaml >today/broken.yaml
sed 's/Broken/Unfinished/' today/broken.yaml >today/unfinished.yaml
ok 'a trial that is wrong' submit today broken.yaml
BROKEN=$ID
ok 'one that is not finished' submit today unfinished.yaml
fails 1 'the first fails' det e wait "$BROKEN"
det e logs "$BROKEN" >"$OUT"
says 'model_def.py", line'
says_not '_loop.py'
fails 1 'the other, too' det e wait "$ID"
det e logs "$ID" >"$OUT"
says "'model_def:Unfinished' cannot be run: it does not define train_batch"
