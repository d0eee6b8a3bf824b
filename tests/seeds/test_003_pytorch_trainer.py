# SPDX-License-Identifier: Apache-2.0
"""Seed 003, "Trainer API for PyTorchTrial": det.pytorch.init(), build_trial(), train(), and batch inference."""
import inspect

from cluster import Cluster
from rows import main, proved, row

E2E, TWO_SLOTS = "tests/e2e/3023-pytorch.sh", "tests/e2e/3024-pytorch-two-slots.sh"
EXAMPLES = "tests/e2e/3026-pytorch-examples.sh"
TRAINER, CONTEXT = "tests/python/torch/test_trainer.py", "tests/python/torch/test_context.py"
INFERENCE, JOBS = "tests/python/torch/test_inference.py", "tests/e2e/3022-jobs.sh"

cluster = Cluster(slots=2)

# The document's script.  It cannot run as it is printed: `pytorch` is not imported, and self.model(batch) passes the
# labels, too.  Lines that end in `# added` are ours.
SCRIPT = '''
# train.py
"""
trains a trivial model to briefly show the PyTorchTrial API
and also the new proposed Trainer API.
"""

import torch
from torch import nn

import determined as det
import determined.pytorch
from determined import pytorch  # added

## Data Definition ##

class OnesDataset(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        # return data, labels
        return torch.Tensor([1.0]), torch.Tensor([1.0])

## Model Definition ##

class OneVarPytorchTrial(det.pytorch.PyTorchTrial):
    def __init__(self, context):
        # Watch out! This is a trial context, not a trainer context like below!
        self.context = context

        # Wrap any models with context.wrap_model()
        self.model = context.wrap_model(nn.Linear(1, 1, False))

        lr = context.hparams["learning_rate"]

        # Wrap any optimizers with context.wrap_optimizer()
        self.opt = context.wrap_optimizer(
            torch.optim.SGD(self.model.parameters(), lr=lr)
        )
        print("trial context:", type(context).__name__, isinstance(context, det.pytorch.TrainerContext))  # added

    def train_batch(self, batch, epoch_idx, batch_idx):
        """
        Tell us how to calculate the loss/metrics for a single batch.
        """
        data, labels = batch
        preds = self.model(data)
        loss = torch.nn.MSELoss()(preds, labels)
        # use context.backward() and context.step_optimizer()
        self.context.backward(loss)
        self.context.step_optimizer(self.opt)
        self.trained = epoch_idx + 1, batch_idx + 1  # added
        return {"loss": loss}

    def evaluate_batch(self, batch: pytorch.TorchData):
        """
        Tell us how to calculate validation metrics for a single batch.
        """
        data, labels = batch
        preds = self.model(data)
        loss = torch.nn.MSELoss()(preds, labels)
        return {"loss": loss}

    # you can also define build_training_data_loader() or
    # build_validation_data_loader() as methods of your PyTorchTrial,
    # but in this example we show how to pass the data loaders in via
    # the trainer API.

## Training script ##

if __name__ == "__main__":

    # Watch out! This is a trainer context, not a trial context like above!
    # (this step will also initialize random seeds automatically)
    context = det.pytorch.init()
    print("seeded:", torch.initial_seed() != torch.default_generator.seed())  # added

    # Access your hparams from the trainer context.
    hparams = context.training.hparams
    global_batch_size = context.training.hparams["global_batch_size"]

    # Optional for distributed training: cacluate this worker's
    # batch_size so that the effective batch_size across all workers
    # remains constant.  If you choose not to use this, the
    # effective batch_size will be multiplied by the number slots_per_trial.
    batch_size = context.distributed.shard_batch_size(global_batch_size)
    print("batch size:", global_batch_size, batch_size)  # added

    # det.pytorch.DataLoader is a drop-in replacement for
    # torch.utils.data.DataLoader for non-iterable Datasets.
    train_data = det.pytorch.DataLoader(OnesDataset(), batch_size)
    val_data = det.pytorch.DataLoader(OnesDataset(), batch_size)

    # Create your Trial class.
    my_trial = context.build_trial(OneVarPytorchTrial)

    # now train your Trial class!
    metrics = context.train(
        my_trial,
        train_data,
        val_data,

        # configure the trainer's behavior settings
        min_validation_period=det.Epochs(1),
        min_checkpoint_period=det.Epochs(1),

        # ignored by cluster training, but honored used when training locally
        max_length=det.Epochs(10),
    )
    print("trained:", *my_trial.trained)  # added
    print("metrics:", sorted(metrics), type(metrics).__name__)  # added
'''
# The learning rate is a hyperparameter that the document's script reads and its configuration has not.
GRID = """
# grid.yaml
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
"""
grid = cluster.experiment("grid", {"train.py": SCRIPT}, GRID)
INFER = '''
# batch_inference.py

from train import OneVarPytorchTrial, OnesDataset

import torch
from torch import nn

import determined as det
import determined.pytorch


def my_upload_fn(predictions):
    print("predictions:", tuple(predictions.shape), bool((predictions - 1).abs().max() < 0.5))

context = det.pytorch.init()

# you can access values from your config's .data field
# which is just a dictionary of arbitrary user data
trial_id = context.config_data["trial_id"]

# load a trial from a checkpoint
my_trial = context.load_checkpoint_trial(OneVarPytorchTrial, trial_id=trial_id)
print("loaded:", type(my_trial).__name__, "of trial", trial_id)

# You are still free to shard your batch_size but since we are not training
# there isn't any particular need to.
batch_size = context.config_data["batch_size"]

# build a dataset, same as for training
pred_data = det.pytorch.DataLoader(OnesDataset(), batch_size=batch_size)

predictions = context.predict(my_trial, pred_data)

# you'll want to upload your predictions to somewhere persistent
my_upload_fn(predictions)
try:
    print("training:", hasattr(context, "training"), getattr(context, "training", "none"))
except RuntimeError as error:
    print("asking for it raises:", error)
'''
JOB = """
# batch_inference.yaml
entrypoint_script: python3 batch_inference.py
data:
    trial_id: 777
    batch_size: 64
resources:
    slots: 8
"""
said = {}


def job():
    """What the job said; run when the grid has ended."""
    if "job" not in said:
        folder = cluster.write("infer", {"train.py": SCRIPT, "batch_inference.py": INFER, "batch_inference.yaml": JOB})
        said["job"] = cluster.det("job", "run", "batch_inference.yaml", ".", "-f", "--config", "resources.slots=1",
                                  "--config", f"data.trial_id={grid.completed().trials()[0]}", cwd=folder)
    return said["job"]


def laptop():
    """What the script says where there is no master."""
    if "laptop" not in said:
        cluster.start()
        folder = cluster.write("laptop", {"train.py": SCRIPT, "grid.yaml": GRID})
        code, text = cluster.python("train.py", cwd=folder, DET_OFFLINE_DIR=cluster.path("runs/one"))
        assert code == 0, text
        said["laptop"] = text
    return said["laptop"]


def pytorch_api(name):
    import determined.pytorch

    return getattr(determined.pytorch, name)


# ---- features

proved("003.1", "no-effort distributed training", TWO_SLOTS, "a class on two slots trains")
proved("003.2", "low-effort AMP support", CONTEXT, "test_mixed_precision")
proved("003.3", "performant and flexible custom metric reduction", "tests/python/torch/test_reducer.py",
       "test_functions_get_all_values")


@row("003.4", "metrics, checkpoints, scheduling, hyperparameter search")
def _(check):
    grid.completed()
    check.assertEqual(len(grid.trials()), 3)
    check.assertTrue(grid.checkpoints())


@row("003.5", "a way to manually invoke training on your PyTorchTrial")
def _(check):
    check.assertIn("trained: 10 ", laptop())


# ---- checklist


@row("003.6", "Start by organizing your code into a PyTorchTrial (as usual)")
def _(check):
    trial = pytorch_api("PyTorchTrial")
    wanted = {"train_batch", "evaluate_batch", "build_training_data_loader", "build_validation_data_loader"}
    check.assertLessEqual(wanted, set(dir(trial)))


@row("003.7", "context = det.pytorch.init()")
def _(check):
    parameters = inspect.signature(pytorch_api("init")).parameters
    check.assertEqual([name for name, each in parameters.items() if each.default is each.empty], [])


@row("003.8", "trial = context.build_trial(MyTrialClass)")
def _(check):
    method = pytorch_api("TrainerContext").build_trial
    check.assertEqual(list(inspect.signature(method).parameters), ["self", "trial_class"])


@row("003.9", "context.fit(trial, ...)")
def _(check):
    check.has_parameter(pytorch_api("TrainerContext").fit, "trial", 0)


@row("003.10", "Optionally you can override your trial's data loaders with arguments to context.fit()")
def _(check):
    check.has_parameter(pytorch_api("TrainerContext").fit, "train_data", 1, None)
    check.has_parameter(pytorch_api("TrainerContext").fit, "val_data", 2, None)


proved("003.11", "... arguments come first, else the trial's own", TRAINER,
       "test_data_is_passed_or_built_and_metrics_come_back")

# ---- the training example


@row("003.12", "an example training script, which can either be submitted to the cluster")
def _(check):
    grid.completed()


@row("003.13", "or it can be invoked to train locally right on your laptop")
def _(check):
    check.assertIn("metrics: ['loss']", laptop())


@row("003.14", "class OnesDataset(torch.utils.data.Dataset)")
def _(check):
    check.assertEqual(sorted(grid.printed("trained:")), ["20 20", "20 40", "20 80"])  # 64 records by 64, 32 and 16


@row("003.15", "This is a trial context, not a trainer context like below!")
def _(check):
    check.assertEqual(set(grid.printed("trial context:")), {"PyTorchTrialContext False"})


@row("003.16", "self.model = context.wrap_model(nn.Linear(1, 1, False))")
def _(check):
    check.has_parameter(pytorch_api("PyTorchTrialContext").wrap_model, "model", 0)


@row("003.17", 'lr = context.hparams["learning_rate"]')
def _(check):
    losses = [value for _, value in grid.completed().values("validation", "loss")]
    check.assertLess(losses[-1], losses[0])


@row("003.18", "self.opt = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=lr))")
def _(check):
    check.has_parameter(pytorch_api("PyTorchTrialContext").wrap_optimizer, "optimizer", 0)


@row("003.19", "def train_batch(self, batch, epoch_idx, batch_idx)")
def _(check):
    check.assertEqual(list(inspect.signature(pytorch_api("PyTorchTrial").train_batch).parameters),
                      ["self", "batch", "epoch_idx", "batch_idx"])


@row("003.20", "self.context.backward(loss)")
def _(check):
    check.has_parameter(pytorch_api("PyTorchTrialContext").backward, "loss", 0)


@row("003.21", "self.context.step_optimizer(self.opt)")
def _(check):
    check.has_parameter(pytorch_api("PyTorchTrialContext").step_optimizer, "optimizer", 0)


@row("003.22", 'return {"loss": loss}: training metrics')
def _(check):
    check.assertTrue(grid.completed().values("training", "loss"))


@row("003.23", "def evaluate_batch(self, batch: pytorch.TorchData): validation metrics")
def _(check):
    check.assertIsNotNone(pytorch_api("TorchData"))
    check.assertEqual(len(grid.completed().values("validation", "loss")), 20)


proved("003.24", "you can also define build_training_data_loader() or build_validation_data_loader() as methods",
       E2E, "today's form is created")


@row("003.25", "this step will also initialize random seeds automatically")
def _(check):
    check.assertEqual(set(grid.printed("seeded:")), {"True"})


proved("003.26", "... of Python, NumPy and PyTorch, by the trial's seed", CONTEXT, "test_seeds")


@row("003.27", 'context.training.hparams["global_batch_size"]')
def _(check):
    check.assertEqual(sorted(grid.printed("batch size:")), ["16 16", "32 32", "64 64"])


@row("003.28", "batch_size = context.distributed.shard_batch_size(global_batch_size)")
def _(check):
    import determined as det

    check.assertEqual(list(inspect.signature(det.core.DistributedContext.shard_batch_size).parameters),
                      ["self", "global_batch_size"])


proved("003.29", "so that the effective batch_size across all workers remains constant", EXAMPLES,
       "the document on two slots")
proved("003.30", "If you choose not to use this, the effective batch_size will be multiplied",
       "tests/python/torch/test_data.py", "test_batch_k_is_rank_k_mod_sizes")


@row("003.31", "det.pytorch.DataLoader is a drop-in replacement for torch.utils.data.DataLoader")
def _(check):
    import torch

    ours = inspect.signature(pytorch_api("DataLoader")).parameters
    theirs = inspect.signature(torch.utils.data.DataLoader).parameters
    takes_all = any(each.kind == each.VAR_KEYWORD for each in ours.values())
    check.assertTrue(takes_all or set(theirs) <= set(ours), set(theirs) - set(ours))
    check.assertEqual(list(ours)[:5], ["dataset", "batch_size", "shuffle", "sampler", "batch_sampler"])


@row("003.32", "train_data = det.pytorch.DataLoader(OnesDataset(), batch_size)")
def _(check):
    check.has_parameter(pytorch_api("DataLoader"), "batch_size", 1, 1)


@row("003.33", "metrics = context.train(my_trial, train_data, val_data, ...)")
def _(check):
    check.assertEqual(grid.printed("metrics:"), ["['loss'] dict"] * 3)


@row("003.34", "min_validation_period=det.Epochs(1)")
def _(check):
    steps = [steps for steps, _ in grid.completed().values("validation", "loss")]
    check.assertEqual([step // steps[0] for step in steps], list(range(1, 21)))


@row("003.35", "min_checkpoint_period=det.Epochs(1)")
def _(check):
    steps = grid.steps()
    check.assertEqual([step // steps[0] for step in steps], list(range(1, 21)))


@row("003.36", "max_length=det.Epochs(10): ignored by cluster training")
def _(check):
    check.assertTrue(all(each.startswith("20 ") for each in grid.printed("trained:")))


@row("003.37", "... but honored when training locally")
def _(check):
    check.assertIn("trained: 10 ", laptop())


@row("003.38", "det.Epochs, and its siblings")
def _(check):
    import determined as det

    check.assertEqual([type(each(3)).__name__ for each in (det.Epochs, det.Batches, det.Records)],
                      ["Epochs", "Batches", "Records"])


# ---- configure and run


@row("003.39", "entrypoint_script: python3 train.py")
def _(check):
    check.assertIn("Created experiment", grid.created().said)


@row("003.40", "global_batch_size: {type: categorical, vals: [16, 32, 64]}")
def _(check):
    check.assertEqual(sorted(grid.printed("batch size:")), ["16 16", "32 32", "64 64"])


@row("003.41", 'searcher: {name: "grid", max_length: {epochs: 20}}, without a metric')
def _(check):
    check.assertEqual(sorted(grid.printed("trained:")), ["20 20", "20 40", "20 80"])


@row("003.42", "det experiment create const.yaml .")
def _(check):
    check.assertEqual(grid.created().code, 0)


# ---- batch inference


@row("003.43", "You launch it as a generic job, i.e. det job run ...")
def _(check):
    check.assertIn("is COMPLETED", job())


@row("003.44", "context.training is not available (since you are not training)")
def _(check):
    check.assertIn("training: False none", job())


@row("003.45", "There is no fancy tracking or visualizations of batch inference (yet): no experiment is made")
def _(check):
    job()
    check.assertEqual(len(grid.table("experiment", "list")), 1)


@row("003.46", "from train import OneVarPytorchTrial, OnesDataset")
def _(check):
    check.assertIn("loaded: OneVarPytorchTrial", job())


@row("003.47", 'trial_id = context.config_data["trial_id"]')
def _(check):
    check.assertIn(f"of trial {grid.completed().trials()[0]}", job())


@row("003.48", "my_trial = context.load_checkpoint_trial(OneVarPytorchTrial, trial_id=trial_id)")
def _(check):
    check.assertIn("loaded: OneVarPytorchTrial", job())
    parameters = list(inspect.signature(pytorch_api("TrainerContext").load_checkpoint_trial).parameters)
    check.assertEqual(parameters[1:3], ["trial_class", "trial_id"])


proved("003.49", "... of its best checkpoint", INFERENCE, "test_the_best_checkpoint_of_a_trial_is_taken")


@row("003.50", 'batch_size = context.config_data["batch_size"]')
def _(check):
    check.assertIn("predictions:", job())


@row("003.51", "pred_data = det.pytorch.DataLoader(OnesDataset(), batch_size=batch_size)")
def _(check):
    check.assertIn("predictions: (64, 1)", job())


@row("003.52", "predictions = context.predict(my_trial, pred_data)")
def _(check):
    check.assertIn("predictions: (64, 1) True", job())  # the model has learned to answer 1


proved("003.53", "... in the order of the data", INFERENCE, "test_one_output_for_each_record_in_the_order_of_the_data")


@row("003.54", "my_upload_fn(predictions)")
def _(check):
    check.assertIn("predictions:", job())


@row("003.55", "entrypoint_script, data: {trial_id: 777, batch_size: 64}, resources: {slots: 8}")
def _(check):
    folder = cluster.write("checked", {"batch_inference.yaml": JOB})
    code, text = cluster.run(cluster.program, "job", "run", "batch_inference.yaml", ".", cwd=folder)
    check.assertIn("8", text)  # there are two slots: it waits, or is refused in a sentence that names them
    for line in text.splitlines():
        if line.startswith("Created job "):
            cluster.det("task", "kill", line.split()[-1])


proved("003.56", "det job run batch_inference.yaml .", JOBS, "the job of the document runs, and is followed to its end")
proved("003.57", "... on two slots the same, to the bit", EXAMPLES, "to the bit")

if __name__ == "__main__":
    main(cluster)
