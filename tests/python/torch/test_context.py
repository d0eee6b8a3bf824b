# SPDX-License-Identifier: Apache-2.0
"""What a trial's context does with models, optimizers and schedulers, and its errors on misuse."""
import collections
import os
import sys
import unittest
from unittest import mock

import numpy as np
import torch
import training
from torch import nn
from training import Trial, Training

from determined import pytorch
from determined.pytorch import _metrics, _trial_context

MODES = pytorch.LRScheduler.StepMode


class Wrapping(Training):
    def test_what_is_wrapped_is_known(self):
        context = self.context()
        model = nn.Linear(2, 2)
        self.assertIs(context.wrap_model(model), model)
        optimizer = context.wrap_optimizer(torch.optim.SGD(model.parameters(), lr=0.1), backward_passes_per_step=2)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
        self.assertIs(context.wrap_lr_scheduler(scheduler, MODES.STEP_EVERY_EPOCH, frequency=2), scheduler)
        scaler = torch.amp.GradScaler("cpu", enabled=False)
        self.assertIs(context.wrap_scaler(scaler), scaler)
        self.assertEqual((context.models, context.optimizers), ([model], [optimizer]))
        self.assertEqual(context.device, torch.device("cpu"))
        for again in (
            lambda: context.wrap_model(model),
            lambda: context.wrap_optimizer(optimizer),
            lambda: context.wrap_lr_scheduler(scheduler, MODES.MANUAL_STEP),
        ):
            with self.assertRaisesRegex(RuntimeError, "called twice with the same"):
                again()
        for sentence, wrong in {
            "given a str; expected a torch.nn.Module": lambda: context.wrap_model("model"),
            "given a Linear; expected a torch.optim.Optimizer": lambda: context.wrap_optimizer(model),
            "given a Linear; expected a torch.amp.GradScaler": lambda: context.wrap_scaler(model),
            "step_mode is 1; expected one of det.pytorch.LRScheduler.StepMode": lambda: context.wrap_lr_scheduler(
                torch.optim.lr_scheduler.StepLR(optimizer, 1), 1
            ),
        }.items():
            with self.assertRaisesRegex(TypeError, sentence):
                wrong()
        with self.assertRaisesRegex(RuntimeError, "a trial has one scaler"):
            context.wrap_scaler(torch.amp.GradScaler("cpu"))
        with self.assertRaisesRegex(ValueError, "backward_passes_per_step is 0"):
            context.wrap_optimizer(torch.optim.Adam(model.parameters()), 0)
        with self.assertRaisesRegex(ValueError, "ReduceLROnPlateau is stepped with a metric"):
            context.wrap_lr_scheduler(torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer), MODES.STEP_EVERY_EPOCH)
        stranger = torch.optim.SGD(model.parameters(), lr=0.1)
        with self.assertRaisesRegex(ValueError, "optimizer of the StepLR is not wrapped"):
            context.wrap_lr_scheduler(torch.optim.lr_scheduler.StepLR(stranger, 1), MODES.STEP_EVERY_BATCH)
        with self.assertRaisesRegex(NotImplementedError, "torch.amp has replaced Apex"):
            context.configure_apex_amp([model], [optimizer])
        with self.assertRaisesRegex(RuntimeError, "choose one of them"):
            context.experimental.use_amp()

    def test_what_is_asked_at_the_wrong_time(self):
        context = self.context()
        model = context.wrap_model(nn.Linear(1, 1))
        optimizer = context.wrap_optimizer(torch.optim.SGD(model.parameters(), lr=0.1))
        with self.assertRaisesRegex(RuntimeError, r"backward\(\) was called outside of train_batch\(\)"):
            context.backward(model(torch.ones(1, 1)).sum())
        with self.assertRaisesRegex(RuntimeError, r"step_optimizer\(\) was called outside of train_batch\(\)"):
            context.step_optimizer(optimizer)
        for name in ("is_epoch_start", "is_epoch_end", "current_train_epoch", "current_train_batch"):
            with self.assertRaisesRegex(RuntimeError, f"{name}.. is unknown before training"):
                getattr(context, name)()

        class Late(Trial):
            def train_batch(self, batch, epoch_idx, batch_idx):
                self.context.wrap_model(nn.Linear(1, 1))

        with self.assertRaisesRegex(RuntimeError, r"wrap_model\(\) was called during training"):
            self.fit(Late)

    def test_hyperparameters_and_configuration(self):
        config = {"optimizations": {"aggregation_frequency": 3}, "data": {"path": "x"}, "reproducibility": {"experiment_seed": 9}}
        context = self.context(exp_conf=config)
        self.assertEqual(context.hparams["lr"], context.get_hparam("lr"))
        self.assertEqual((context.get_global_batch_size(), context.get_per_slot_batch_size()), (8, 8))
        self.assertEqual(context.aggregation_frequency, 3)
        self.assertEqual((context.get_data_config(), context.get_trial_seed()), ({"path": "x"}, 9))
        self.assertEqual(context.get_initial_batch(), 0)
        with self.assertRaisesRegex(ValueError, "there is no hyperparameter 'rate'; there are: global_batch_size, lr"):
            context.get_hparam("rate")
        with self.assertRaisesRegex(RuntimeError, "not a trial of a cluster"):
            context.get_trial_id()
        with self.assertRaisesRegex(ValueError, "aggregation_frequency is 0"):
            self.context(aggregation_frequency=0)

    def test_seeds(self):
        drawn = []
        for _ in range(2):
            context = self.context(exp_conf={"reproducibility": {"experiment_seed": 9}})
            torch.rand(3), np.random.rand(3)
            context.build_trial(Trial)
            drawn.append((torch.rand(2).tolist(), np.random.rand(2).tolist(), __import__("random").random()))
        self.assertEqual(drawn[0], drawn[1])


class Devices(Training):
    def test_data_is_moved_however_it_is_nested(self):
        Pair = collections.namedtuple("Pair", "one other")

        class Own:
            def to(self, device):
                return f"on {device}"

        context = self.context()
        tensor = torch.ones(2)
        data = {"a": [tensor, (tensor, Pair(tensor, "word"))], "b": Own(), "c": 1, "d": np.ones(1)}
        with self.assertLogs("determined.pytorch", "WARNING") as logs:
            moved = context.to_device(data)
            context.to_device(data)
        self.assertEqual(len(logs.output), 1)
        self.assertIn("ndarray", logs.output[0])
        self.assertEqual(moved["b"], "on cpu")
        self.assertIsInstance(moved["a"][1][1], Pair)
        self.assertTrue(torch.equal(moved["a"][1][1].one, tensor))

    def test_a_task_with_gpus_is_not_trained_without(self):
        with self.assertRaisesRegex(RuntimeError, "this task has 2 GPUs, but PyTorch .* can use none: install a build with CUDA"):
            with mock.patch.object(torch.cuda, "is_available", lambda: False):
                _trial_context._check_gpus(2)

    def test_a_gpu_that_is_full_says_how_much(self):
        class Full(Trial):
            def train_batch(self, batch, epoch_idx, batch_idx):
                raise torch.OutOfMemoryError(
                    "CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 79.11 GiB of which "
                    "1.25 GiB is free. Process 7 has 77 GiB memory in use."
                )

        wanted = "full: 20.00 GiB was requested, 1.25 GiB of 79.11 GiB was free; use smaller batches .now 8."
        with self.assertRaisesRegex(torch.OutOfMemoryError, wanted) as caught:
            self.fit(Full)
        self.assertIn("Process 7", str(caught.exception.__cause__))  # the user's own traceback comes first


class Steps(Training):
    """What one batch does."""

    def test_a_plain_loop_comes_to_the_same_weights(self):
        class Plain(Trial):
            def build_training_data_loader(self):
                return training.loader(shuffle=False)

        trial = self.fit(Plain, max_length=pytorch.Epoch(2))
        _trial_context.seed_everything(7)
        model = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 2))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        for at in list(range(0, training.ROWS, training.BATCH)) * 2:
            rows = slice(at, at + training.BATCH)
            loss = nn.functional.mse_loss(model(training.X[rows]), training.Y[rows])
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        for ours, plain in zip(trial.model.state_dict().values(), model.state_dict().values()):
            self.assertTrue(torch.equal(ours, plain))

    def test_gradients_are_aggregated_and_clipped(self):
        steps = []

        class Noted(torch.optim.SGD):
            def step(self, *args):
                steps.append([float(p.grad.abs().sum()) for p in self.param_groups[0]["params"]])

        class Sums(Trial):
            clips = False

            def __init__(self, context):
                self.context = context
                self.model = context.wrap_model(nn.Linear(1, 1, bias=False))
                self.optimizer = context.wrap_optimizer(
                    Noted(self.model.parameters(), lr=0.1), average_aggregated_gradients=self.averages
                )

            def train_batch(self, batch, epoch_idx, batch_idx):
                loss = self.model(torch.ones(1, 1)).sum() * (batch_idx + 1)  # its gradient: 1, 2, 3, ...
                self.context.backward(loss)
                clip = (lambda params: nn.utils.clip_grad_value_(params, 2.0)) if self.clips else None
                self.context.step_optimizer(self.optimizer, clip)
                return loss

            def evaluate_batch(self, batch):
                return {"validation_loss": 0}

        Sums.averages = True
        config = {"optimizations": {"aggregation_frequency": 3}}
        self.fit(Sums, config, max_length=pytorch.Batch(6))
        self.assertEqual(steps, [[2.0], [5.0]])  # (1 + 2 + 3) / 3, (4 + 5 + 6) / 3
        steps.clear()
        Sums.averages = False
        self.in_folder("sums")
        self.fit(Sums, config, max_length=pytorch.Batch(6))
        self.assertEqual(steps, [[6.0], [15.0]])
        steps.clear()
        Sums.clips = True
        self.in_folder("clips")
        self.fit(Sums, {}, max_length=pytorch.Batch(3))
        self.assertEqual(steps, [[1.0], [2.0], [2.0]])

    def test_each_optimizer_has_its_way_of_aggregating(self):
        steps = {}

        class Noted(torch.optim.SGD):
            def step(self, *args):
                steps.setdefault(id(self), []).append([p.grad and float(p.grad) for p in self.param_groups[0]["params"]])

        class Three(Trial):
            def __init__(self, context):
                self.context = context
                self.models = [context.wrap_model(nn.Linear(1, 1, bias=False)) for _ in range(3)]
                self.each = [
                    context.wrap_optimizer(Noted(model.parameters(), lr=0.1), average_aggregated_gradients=averages)
                    for model, averages in zip(self.models, (True, False, None))
                ]

            def train_batch(self, batch, epoch_idx, batch_idx):
                loss = sum(model(torch.ones(1, 1)).sum() for model in self.models[:2])
                self.context.backward(loss)
                for optimizer in self.each:  # the third has nothing to do: no loss of its model
                    self.context.step_optimizer(optimizer)
                return loss

            def evaluate_batch(self, batch):
                return {"validation_loss": 0}

        trial = self.fit(Three, {"optimizations": {"aggregation_frequency": 3}}, max_length=pytorch.Batch(3))
        self.assertEqual([steps[id(each)] for each in trial.each], [[[1.0]], [[3.0]], [[None]]])

    def test_schedulers_are_stepped_as_they_were_wrapped(self):
        seen = []

        class Scheduled(Trial):
            def __init__(self, context):
                super().__init__(context)
                one = torch.optim.lr_scheduler
                self.each = [one.StepLR(self.optimizer, 1, 1.0) for _ in range(5)]
                for scheduler, mode, frequency in zip(
                    self.each,
                    (MODES.STEP_EVERY_BATCH, MODES.STEP_EVERY_BATCH, MODES.STEP_EVERY_EPOCH, MODES.STEP_EVERY_OPTIMIZER_STEP, MODES.MANUAL_STEP),
                    (1, 4, 1, 1, 1),
                ):
                    context.wrap_lr_scheduler(scheduler, mode, frequency)

        trial = self.fit(Scheduled, {"optimizations": {"aggregation_frequency": 3}}, max_length=pytorch.Epoch(2))
        seen = [each.last_epoch for each in trial.each]
        self.assertEqual(seen, [18, 4, 2, 6, 0])

    def test_where_we_are(self):
        seen = []

        class Looks(Trial):
            def train_batch(self, batch, epoch_idx, batch_idx):
                c = self.context
                seen.append((epoch_idx, batch_idx, c.current_train_epoch(), c.current_train_batch(), c.is_epoch_start(), c.is_epoch_end()))
                return super().train_batch(batch, epoch_idx, batch_idx)

        self.fit(Looks, max_length=pytorch.Batch(11))
        self.assertEqual(seen[0], (0, 0, 0, 0, True, False))
        self.assertEqual(seen[8], (0, 8, 0, 8, False, True))
        self.assertEqual(seen[9:], [(1, 9, 1, 9, True, False), (1, 10, 1, 10, False, False)])

    def test_mixed_precision(self):
        kinds, backward = set(), set()

        class Auto(Trial):
            def __init__(self, context):
                super().__init__(context)
                context.experimental.use_amp()
                kind = context.device.type
                self.model[0].weight.register_hook(lambda grad: backward.add(torch.is_autocast_enabled(kind)))

            def train_batch(self, batch, epoch_idx, batch_idx):
                kinds.add(self.model[0](batch[0]).dtype)
                return super().train_batch(batch, epoch_idx, batch_idx)

            def evaluate_batch(self, batch):
                kinds.add(self.model(batch[0]).dtype)
                return super().evaluate_batch(batch)

        self.fit(Auto, max_length=pytorch.Batch(2))
        self.assertEqual(kinds, {torch.float16 if torch.cuda.is_available() else torch.bfloat16})
        self.assertEqual(backward, {False})  # PyTorch's own rule: only the forward pass chooses

        class Own(Trial):
            def __init__(self, context):
                super().__init__(context)
                self.scaler = context.wrap_scaler(torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2))

            def train_batch(self, batch, epoch_idx, batch_idx):
                with torch.autocast("cpu"):
                    loss = nn.functional.mse_loss(self.model(batch[0]).float(), batch[1])
                self.context.backward(self.scaler.scale(loss))
                clip = lambda params: nn.utils.clip_grad_norm_(params, 1.0)  # noqa: E731
                self.context.step_optimizer(self.optimizer, clip, scaler=self.scaler)
                self.scaler.update()
                return {"loss": loss}

        self.in_folder("own")
        trial = self.fit(Own, max_length=pytorch.Batch(4))
        self.assertEqual(trial.scaler.get_scale(), 32.0)
        self.fit(Own, max_length=pytorch.Batch(6))  # goes on with it
        self.assertEqual(torch.load(os.path.join(self.checkpoints()[-1][1], "state_dict.pth"))["scaler_state_dict"]["scale"], 64.0)

    def test_a_scaler_updates_only_in_batches_that_step(self):
        class Own(Trial):
            """update() after every batch, as in PyTorch's documentation."""

            def __init__(self, context):
                super().__init__(context)
                self.scaler = context.wrap_scaler(torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=1))

            def train_batch(self, batch, epoch_idx, batch_idx):
                loss = nn.functional.mse_loss(self.model(batch[0]), batch[1])
                self.context.backward(self.scaler.scale(loss))
                self.context.step_optimizer(self.optimizer, scaler=self.scaler)
                self.update(batch_idx)
                return {"loss": loss}

            def update(self, batch_idx):
                self.scaler.update()

        class Steps(Own):
            """update() by hand, in batches that step."""

            def update(self, batch_idx):
                if batch_idx % 3 == 2:
                    self.scaler.update()

        class Sets(Own):
            def update(self, batch_idx):
                self.scaler.update(4.0 if batch_idx == 3 else None)

        config = {"optimizations": {"aggregation_frequency": 3}}
        for kind, scale in ((Own, 32.0), (Steps, 32.0), (Sets, 8.0)):
            self.in_folder(kind.__name__)
            self.assertEqual(self.fit(kind, config, max_length=pytorch.Batch(6)).scaler.get_scale(), scale)

    def test_a_scale_is_learned_from_steps_and_from_nothing_else(self):
        class Seldom(Trial):
            """With use_amp(), and a scaler that works without a GPU; it steps every other batch by itself."""

            def __init__(self, context):
                super().__init__(context)
                context.experimental.use_amp()
                self.scaler = context._scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=1)

            def train_batch(self, batch, epoch_idx, batch_idx):
                loss = nn.functional.mse_loss(self.model(batch[0]).float(), batch[1])
                self.context.backward(loss)
                if batch_idx % 2:
                    self.context.step_optimizer(self.optimizer)
                return {"loss": loss}

        self.assertEqual(self.fit(Seldom, max_length=pytorch.Batch(4)).scaler.get_scale(), 32.0)
        self.in_folder("aggregated")
        config = {"optimizations": {"aggregation_frequency": 2}}
        self.assertEqual(self.fit(Seldom, config, max_length=pytorch.Batch(4)).scaler.get_scale(), 32.0)

        class Unwrapped(Trial):
            def train_batch(self, batch, epoch_idx, batch_idx):
                scaler = self.scaler = getattr(self, "scaler", None) or torch.amp.GradScaler("cpu")
                loss = nn.functional.mse_loss(self.model(batch[0]), batch[1])
                self.context.backward(scaler.scale(loss))
                self.context.step_optimizer(self.optimizer, scaler=scaler)
                scaler.update()
                return loss

        self.in_folder("unwrapped")
        with self.assertLogs("determined.pytorch", "WARNING") as logs:
            self.fit(Unwrapped, max_length=pytorch.Batch(3))
        told = [each for each in logs.output if "a scaler that is not wrapped" in each]
        self.assertEqual(len(told), 1)


class Board(Training):
    def test_the_writer_writes_where_the_platform_looks_without_tensorflow(self):
        context = self.context()
        writer = context.get_tensorboard_writer()
        self.assertIs(context.get_tensorboard_writer(), writer)
        writer.add_scalar("own", 1.0, 1)
        writer.flush()
        folder = context.get_tensorboard_path()
        self.assertEqual(str(folder), self.path("run", "tensorboard"))
        self.assertTrue(any(b"own" in path.read_bytes() for path in folder.iterdir()))
        self.assertNotIn("tensorflow", sys.modules)
        context.set_enable_tensorboard_logging(False)
        self.assertFalse(context.get_enable_tensorboard_logging())
        self.assertNotEqual(context.get_tensorboard_path(), folder)
        with self.assertRaisesRegex(TypeError, "enable_tensorboard_logging is 1"):
            context.set_enable_tensorboard_logging(1)

    def test_it_can_be_turned_off(self):
        with self.context(enable_tensorboard_logging=False) as context:
            pytorch.Trainer(Trial(context), context).fit(max_length=pytorch.Batch(1))
        self.assertFalse(os.path.exists(self.path("run", "tensorboard")))

    def test_a_profiler_of_torch_is_stepped(self):
        class Profiled(Trial):
            def __init__(self, context):
                super().__init__(context)
                context.set_profiler(
                    activities=[torch.profiler.ProfilerActivity.CPU],
                    schedule=torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=1),
                )

        self.fit(Profiled, max_length=pytorch.Batch(6))
        names = os.listdir(self.path("run", "tensorboard"))
        self.assertEqual(len([name for name in names if name.endswith(".pt.trace.json")]), 1)


class Metrics(unittest.TestCase):
    def test_what_waits_on_a_gpu_is_read_when_it_is_wanted(self):
        """Tensors on the processor stand in for those on a GPU."""

        class Trainer:
            def __init__(self):
                self.values = []

            def metric(self, name, value):
                self.values.append((name, value))

            def window(self):
                return dict(self.values)

        trainer = Trainer()
        windows = _metrics.Windows(trainer, False)
        total = torch.zeros(())
        for _ in range(3):
            total += 1
            windows._wait("total", total)  # added to later
            windows._wait("loss", (torch.ones(1, requires_grad=True) * float(total)).sum())
        self.assertEqual(trainer.values, [])
        windows.settle()
        self.assertEqual(trainer.values, [("total", 1.0), ("total", 2.0), ("total", 3.0), ("loss", 1.0), ("loss", 2.0), ("loss", 3.0)])
        trainer.values.clear()
        windows._wait("x", torch.tensor([1.0, 2.0]))
        windows.settle()
        self.assertEqual(trainer.values, [("x.0", 1.0), ("x.1", 2.0)])
        with self.assertRaisesRegex(ValueError, r"'x' with the shape \(3,\), but \(2,\) for the batches before it"):
            windows._wait("x", torch.ones(3))
        for many in (torch.ones(0), torch.ones(1001)):
            with self.assertRaisesRegex(TypeError, r"'y' as a Tensor of shape \(\d+,\); expected a number"):
                windows._wait("y", many)


if __name__ == "__main__":
    unittest.main()
