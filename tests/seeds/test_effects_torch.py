# SPDX-License-Identifier: Apache-2.0
"""Arguments of determined.pytorch whose effect no other test shows."""
import os
import sys
import types
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../python/torch"))
import torch  # noqa: E402
import training  # noqa: E402
from torch import nn  # noqa: E402
from training import Reports, Training, Trial  # noqa: E402

import determined as det  # noqa: E402
from determined import core, pytorch  # noqa: E402
from determined.pytorch import experimental  # noqa: E402


class One(Trial):
    """A weight whose gradient is that of its loss."""

    def __init__(self, context):
        self.context = context
        self.model = context.wrap_model(nn.Linear(1, 1, bias=False))
        self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.0))
        self.seen = []

    def evaluate_batch(self, batch):
        return {"validation_loss": 0}

    @property
    def grad(self):
        return self.model.weight.grad


class Steps(Training):
    def train(self, train_batch, batches=1, **options):
        kind = type("Given", (One,), {"train_batch": train_batch})
        return self.fit(kind, max_length=pytorch.Batch(batches), **options).seen

    def test_backward_retains_the_graph_if_it_is_told_to(self):
        for retains in (False, True):
            def train_batch(self, batch, epoch_idx, batch_idx):
                loss = self.model(torch.ones(1, 1)).pow(2).sum()
                self.context.backward(loss, retain_graph=retains)
                try:
                    self.context.backward(loss)
                    self.seen.append("twice")
                except RuntimeError:
                    self.seen.append("once")
                self.optimizer.zero_grad()
                return {"loss": 0.0}

            self.in_folder(str(retains))
            self.assertEqual(self.train(train_batch), ["twice" if retains else "once"])

    def test_backward_creates_a_graph_and_takes_a_gradient(self):
        def train_batch(self, batch, epoch_idx, batch_idx):
            out = self.model(torch.ones(2, 1)).pow(2)
            self.context.backward(out, gradient=torch.tensor([[1.0], [3.0]]), create_graph=True)
            self.seen.append((self.grad.requires_grad, torch.allclose(self.grad, 8 * self.model.weight)))
            self.model.weight.grad = None
            return {"loss": 0.0}

        self.assertEqual(self.train(train_batch), [(True, True)])

    def test_gradients_stay_if_they_are_to_stay(self):
        for zeroes in (True, False):
            def train_batch(self, batch, epoch_idx, batch_idx):
                self.context.backward(self.model(torch.ones(1, 1)).sum())
                self.context.step_optimizer(self.optimizer, auto_zero_grads=zeroes)
                self.seen.append(None if self.grad is None else float(self.grad))
                return {"loss": 0.0}

            self.in_folder(str(zeroes))
            self.assertEqual(self.train(train_batch, 2), [None, None] if zeroes else [1.0, 2.0])

    def test_optimizers_step_after_as_many_batches_as_init_says(self):
        steps = []

        class Noted(torch.optim.SGD):
            def step(self, *args):
                steps.append(1)

        class Counts(One):
            def __init__(self, context):
                super().__init__(context)
                self.noted = context.wrap_optimizer(Noted(self.model.parameters(), lr=0.0))

            def train_batch(self, batch, epoch_idx, batch_idx):
                self.context.backward(self.model(torch.ones(1, 1)).sum())
                self.context.step_optimizer(self.noted)
                return {"loss": 0.0}

        with self.context(aggregation_frequency=3) as context:
            pytorch.Trainer(Counts(context), context).fit(max_length=pytorch.Batch(6))
        self.assertEqual(len(steps), 2)


class SeedsForm(Training):
    """context.fit() and context.train() are one function."""

    def steps(self):
        return [steps for steps, _ in self.checkpoints()]

    def train(self, **options):
        with self.context(exp_conf={"reproducibility": {"experiment_seed": 7}}) as context:
            self.trial = context.build_trial(Trial)
            context.fit(self.trial, training.loader(), training.loader(shuffle=False),
                        **{"max_length": det.Batches(6), **options})

    def test_they_are_one(self):
        self.assertIs(pytorch.TrainerContext.fit, pytorch.TrainerContext.train)

    def test_periods(self):
        reports = Reports(self)
        self.train(reporting_period=det.Batches(2), min_validation_period=det.Batches(3),
                   min_checkpoint_period=det.Batches(4), checkpoint_policy="none")
        self.assertEqual([steps for steps, _ in reports.training], [2, 3, 4, 6])
        self.assertEqual([steps for steps, _ in reports.validation], [3, 6])
        self.assertEqual(self.steps(), [4, 6])

    def test_policies(self):
        for policy, wanted in {"all": [2, 4, 6], "none": [6]}.items():
            self.in_folder(policy)
            self.train(checkpoint_policy=policy, min_validation_period=det.Batches(2))
            self.assertEqual(self.steps(), wanted)

    def test_latest_checkpoint(self):
        self.train(max_length=det.Batches(4))
        folder = self.checkpoints()[-1][1]
        trained = []

        class Counts(Trial):
            def train_batch(self, batch, epoch_idx, batch_idx):
                trained.append(batch_idx)
                return super().train_batch(batch, epoch_idx, batch_idx)

        self.in_folder("next")
        with self.context() as context:
            context.fit(context.build_trial(Counts), training.loader(), training.loader(shuffle=False),
                        max_length=det.Batches(6), latest_checkpoint=folder)
        self.assertEqual(trained, [4, 5])

    def test_step_zero_validation(self):
        reports = Reports(self)
        self.train(step_zero_validation=True, max_length=det.Batches(1))
        self.assertEqual([steps for steps, _ in reports.validation], [0, 1])

    def test_test_mode(self):
        self.train(test_mode=True, max_length=det.Epochs(50))
        self.assertEqual(self.steps(), [1])

    def test_profiling_enabled(self):
        for enabled in (False, True):
            self.in_folder(f"profiled-{enabled}")
            self.train(profiling_enabled=enabled, max_length=det.Batches(3))
            found = b""
            for where, _, names in os.walk(os.environ["DET_OFFLINE_DIR"]):
                for name in names:
                    with open(os.path.join(where, name), "rb") as file:
                        found += file.read() if "reports" in where else b""
            self.assertEqual(b"memory_free" in found or b"timing" in found, enabled)


class Schedulers(Training):
    def test_steps_reach_the_scheduler(self):
        optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
        plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, factor=0.5)
        ours = pytorch.LRScheduler(plateau, pytorch.LRScheduler.StepMode.MANUAL_STEP, frequency=2)
        for _ in range(3):
            ours.step(1.0)
        self.assertEqual(optimizer.param_groups[0]["lr"], 0.25)
        ours.load_state_dict({**ours.state_dict(), "best": 0.125})
        self.assertEqual(plateau.best, 0.125)


class Contexts(Training):
    def test_ranks_of_ones_own(self):
        alone = core.DistributedContext(rank=0, size=1, local_rank=0, local_size=1, cross_rank=0, cross_size=1)
        with self.context(distributed=alone) as context:
            self.assertIs(context.distributed, alone)

    def test_a_context_that_loads(self):
        with core.init() as core_context:
            context = pytorch.CheckpointLoadContext(
                hparams={"lr": 3}, exp_conf={"data": {"a": 1}}, core_context=core_context)
            self.assertEqual((context.get_hparam("lr"), context.get_data_config()), (3, {"a": 1}))
            self.assertIs(context.distributed, core_context.distributed)

    def test_arguments_that_only_pytorch_knows_reach_it(self):
        self.assertEqual(training.loader(pin_memory_device="meta").pin_memory_device, "meta")
        with self.assertRaises(TypeError):
            training.loader(no_such_argument=1)


class Lightning(Training):
    def setUp(self):
        super().setUp()
        import lightning

        class Module(lightning.LightningModule):
            def __init__(self):
                super().__init__()
                self.net = nn.Linear(1, 1)

            def training_step(self, batch, batch_idx):
                return self.net(batch).pow(2).mean()

            def configure_optimizers(self):
                return torch.optim.SGD(self.parameters(), lr=0.1)

        self.package, self.module = lightning, Module()

    def test_checkpoint_epochs(self):
        from determined.lightning import DetCallback

        with core.init() as context:
            trainer = self.package.Trainer(
                max_epochs=4, accelerator="cpu", enable_progress_bar=False, enable_model_summary=False, logger=False,
                callbacks=[DetCallback(context, checkpoint_epochs=2)])
            trainer.fit(self.module, torch.utils.data.DataLoader(torch.ones(3, 1)))
        self.assertEqual([steps for steps, _ in self.checkpoints()], [6, 12])

    def test_a_seed_decides_the_order(self):
        from determined.lightning import Resumable

        with core.init() as context:
            loader = pytorch.DataLoader(torch.arange(20), shuffle=True)
            orders = [[int(each) for each in Resumable(loader, context, seed)] for seed in (1, 1, 2)]
        self.assertEqual(orders[0], orders[1])
        self.assertNotEqual(orders[0], orders[2])


class Processing(Training):
    def process(self, prepare=lambda context: None, **options):
        """[(rank, records)] of each batch of two."""
        seen = []

        class Sees(experimental.TorchBatchProcessor):
            def __init__(self, context):
                self.context = context
                self.reducer = prepare(context)

            def process_batch(self, batch, batch_idx):
                seen.append((self.context.distributed.rank, len(batch)))
                if self.reducer is not None:
                    self.reducer.update(len(batch))

        experimental.torch_batch_process(Sees, list(range(5)), batch_size=2, **options)
        return seen

    def test_a_distributed_context_of_ones_own(self):
        alone = core.DistributedContext(rank=0, size=1, local_rank=0, local_size=1, cross_rank=0, cross_size=1)
        self.assertEqual(self.process(distributed_context=alone), [(0, 2), (0, 2), (0, 1)])

    def test_reducers_have_a_group(self):
        self.process(lambda context: context.wrap_reducer(sum, name="total", group="mine"))
        self.assertIn(b"mine", self.reported())
        self.assertIn(b"total", self.reported())

    def test_what_it_uses_is_noted(self):
        version = types.SimpleNamespace(model_version=3, name="mnist", checkpoint=types.SimpleNamespace(uuid="another"))

        def prepare(context):
            context.report_task_using_checkpoint("some-uuid")
            context.report_task_using_model_version(version)
            self.noted = context._core.train.get_metadata()["uses"]

        self.process(prepare)
        self.assertEqual(self.noted["checkpoints"], {"some-uuid": True, "another": True})
        self.assertEqual(self.noted["model_versions"], {"mnist": 3})


if __name__ == "__main__":
    unittest.main()
