# SPDX-License-Identifier: Apache-2.0
# slots_per_trial: 2 with nothing else named trains a PyTorchTrial with DistributedDataParallel: by its class and by a
# script; a rank that is killed takes the other along, and what goes on from the checkpoint ends as if nothing had been.
IN_MEMORY=1
. "$(dirname "$0")/lib.sh"
need_tensorflow # and PyTorch with it
platform --slots 2
mkdir model
cat >model/model_def.py <<'END'
import hashlib
import os
import signal

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from determined import pytorch


class Tell(pytorch.PyTorchCallback):
    def __init__(self, trial):
        self.trial = trial

    def on_validation_end(self, metrics):
        state = self.trial.model.module.state_dict()
        weights = hashlib.sha256(b"".join(each.numpy().tobytes() for each in state.values())).hexdigest()[:16]
        print("ends with", metrics["error"], metrics["records"], metrics["most"], weights, flush=True)


class Trial(pytorch.PyTorchTrial):
    def __init__(self, context):
        self.context = context
        self.model = context.wrap_model(
            nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 1))
        )
        assert isinstance(self.model, DistributedDataParallel)
        self.optimizer = context.wrap_optimizer(torch.optim.Adam(self.model.parameters(), lr=0.01))
        self.most = context.wrap_reducer(lambda values: float(torch.cat(values).max()), name="most")

    def loader(self, records, seed, **options):
        x = torch.randn(records, 4, generator=torch.Generator().manual_seed(seed))
        return pytorch.DataLoader(torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True)), **options)

    def build_training_data_loader(self):
        return self.loader(40, 1, batch_size=self.context.get_per_slot_batch_size(), shuffle=True)

    def build_validation_data_loader(self):
        return self.loader(9, 2, batch_size=2)

    def build_callbacks(self):
        return {"tell": Tell(self)}

    def evaluation_reducer(self):
        return {"error": pytorch.Reducer.AVG, "records": pytorch.Reducer.SUM}

    def train_batch(self, batch, epoch_idx, batch_idx):
        if batch_idx == 7 and self.context.distributed.rank == 1 and self.context.get_hparams().get("dies"):
            if not os.path.exists(self.context.get_hparam("dies")):
                open(self.context.get_hparam("dies"), "w").close()
                os.kill(os.getpid(), signal.SIGKILL)
        x, y = batch
        loss = nn.functional.mse_loss(self.model(x), y)
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        self.most.update(y)
        return {"loss": loss}

    def evaluate_batch(self, batch):
        x, y = batch
        self.most.update(y)
        return {"error": nn.functional.mse_loss(self.model(x), y), "records": len(x)}
END
cat >model/train.py <<'END'
from determined import pytorch
from model_def import Trial

with pytorch.init() as context:
    pytorch.Trainer(Trial(context), context).fit(
        max_length=pytorch.Batch(12), checkpoint_period=pytorch.Batch(5), validation_period=pytorch.Batch(12)
    )
END
cat >model/const.yaml <<'END'
name: two slots
entrypoint: model_def:Trial
resources: {slots_per_trial: 2}
searcher: {name: single, metric: error, max_length: {batches: 12}}
min_checkpoint_period: {batches: 5}
min_validation_period: {batches: 12}
reproducibility: {experiment_seed: 5}
hyperparameters: {global_batch_size: 8}
max_restarts: 0
END
ends() { sed -n 's/.*\[rank=\(.\)\].*ends with /\1 /p' "$OUT" | sort; }
ok 'a class on two slots trains' create model -f
WHOLE=$(ends)
same 'on both of them' 2 "$(echo "$WHOLE" | grep -c .)"
same 'with the same weights and metrics' 1 "$(echo "$WHOLE" | cut -d' ' -f2- | uniq | grep -c .)"
same 'every record counts once' 9.0 "$(echo "$WHOLE" | head -1 | cut -d' ' -f3)"
ok 'a script does too, and goes on when a rank was killed' create model -f --config 'entrypoint=python3 train.py' \
    --config max_restarts=1 --config hyperparameters.dies="$T/died"
says 'rank 1 was killed by signal 9 (Killed); all ranks are ended'
same 'to the very same end' "$WHOLE" "$(ends)"
