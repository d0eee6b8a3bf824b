# SPDX-License-Identifier: Apache-2.0
"""The callback, the logger and the loader for Lightning, with a tiny module and no master."""
import os
import re
import subprocess
import sys
import unittest
import warnings

import children
from offline_case import Offline

import lightning.pytorch as pl
import torch

import determined as det
from determined import core
from determined.lightning import DetCallback, DetLogger, Resumable

torch.set_num_threads(1)
GUIDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../docs/guide/lightning.md")
warnings.filterwarnings("ignore")


class Points(torch.utils.data.Dataset):
    """20 points; with `noise` each is moved at random whenever it is read."""

    def __init__(self, noise=False):
        self.points = torch.randn(20, 4, generator=torch.Generator().manual_seed(3))
        self.noise = noise

    def __len__(self):
        return len(self.points)

    def __getitem__(self, index):
        point = self.points[index]
        return point + (torch.randn(4) if self.noise else 0), point.sum()


class Module(pl.LightningModule):
    def __init__(self, kill_at=None, plateau=False, means=False):
        super().__init__()
        self.means = means
        torch.manual_seed(7)
        self.net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.3), torch.nn.Linear(4, 1))
        self.kill_at, self.plateau = kill_at, plateau

    def training_step(self, batch, batch_idx):
        if self.kill_at is not None and self.global_step >= self.kill_at:
            children.kill_me()
        loss = torch.nn.functional.mse_loss(self.net(batch[0])[:, 0], batch[1])
        self.log("train_loss", loss)
        if self.means:
            self.log("mean", loss, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch, batch_idx):
        self.log("val_loss", torch.nn.functional.mse_loss(self.net(batch[0])[:, 0], batch[1]), sync_dist=True)
        self.log("val_each", float(batch_idx), on_step=True, on_epoch=False)

    def test_step(self, batch, batch_idx):
        self.log("test_loss", 1.0)

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=0.05)
        if self.plateau:
            scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, factor=0.5, threshold=0.9)
            return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "monitor": "val_loss"}}
        return {"optimizer": optimizer, "lr_scheduler": torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)}


class Killing(DetLogger):
    """Kills the process when it would report this metric of this step."""

    place = None

    def log_metrics(self, metrics, step=None):
        if self.place and self.place[0] in metrics and self._trainer.global_step == self.place[1]:
            children.kill_me()
        super().log_metrics(metrics, step)


class Noting(core._train.TrainContext):
    """Keeps the reports."""

    def _report(self, group, steps_completed, metrics, batch_metrics=None):
        super()._report(group, steps_completed, metrics, batch_metrics)
        self.__dict__.setdefault("seen", []).append((group, steps_completed, metrics))

    def report_progress(self, progress):
        super().report_progress(progress)
        self.__dict__.setdefault("progress", []).append(progress)


def loader_of(context, kind, noise, workers):
    if kind == "det":
        return Resumable(det.pytorch.DataLoader(Points(noise), 4, shuffle=True, num_workers=workers), context, 5)
    sampler = None
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size > 1:
        sampler = torch.utils.data.DistributedSampler(Points(), size, int(os.environ["RANK"]), seed=5)
    loader = torch.utils.data.DataLoader(
        Points(noise), 4 // size, shuffle=sampler is None, sampler=sampler, num_workers=workers
    )
    return Resumable(loader) if kind == "resumable" else loader


def train(
    kill_at=None,
    stop_at=None,
    kind="resumable",
    noise=False,
    workers=0,
    plateau=False,
    batches=2,
    resume=True,
    twice=False,
    after=False,
    means=False,
    kill_report=None,
    **more,
):
    """5 steps per epoch, 15 in all; returns the weights and the reports."""
    torch.manual_seed(os.getpid())  # nothing comes from here
    is_ranked = int(os.environ.get("WORLD_SIZE", "1")) > 1
    distributed = core.DistributedContext.from_torch_distributed() if is_ranked else None
    with core.init(distributed=distributed) as context:
        context.train.__class__ = Noting
        callback = DetCallback(context, checkpoint_batches=batches)
        if stop_at is not None:
            asks = iter(range(1, 1000))
            context.preempt.should_preempt = lambda: next(asks) >= stop_at
        module = Module(kill_at, plateau, means)
        reporter = Killing(context)
        reporter.place = kill_report
        settings = dict(max_epochs=3, log_every_n_steps=2, accelerator="cpu", enable_progress_bar=False)
        settings.update(enable_model_summary=False, default_root_dir=os.environ["HOME"], **more)
        if is_ranked:
            settings.update(devices=int(os.environ["WORLD_SIZE"]), strategy="ddp", use_distributed_sampler=False)
        torch.manual_seed(11)  # of the first run; a resumed one has its own
        if callback.ckpt_path is not None and resume:
            torch.manual_seed(os.getpid())
        trainer = pl.Trainer(
            callbacks=[callback, *([DetCallback(context)] if twice else [])],
            logger=reporter,
            **settings,
        )
        trainer.fit(
            module,
            loader_of(context, kind, noise, workers),
            torch.utils.data.DataLoader(Points(), 4),
            ckpt_path=callback.ckpt_path if resume else None,
        )
        if after:
            trainer.validate(module, torch.utils.data.DataLoader(Points(), 4), verbose=False)
            trainer.test(module, torch.utils.data.DataLoader(Points(), 4), verbose=False)
        return {
            "weights": {name: value.tolist() for name, value in module.state_dict().items()},
            "steps": trainer.global_step,
            "epochs": trainer.current_epoch,
            "seen": context.train.__dict__.get("seen", []),
            "progress": context.train.__dict__.get("progress", []),
            "is_preempted": callback.is_preempted,
            "limit": trainer.limit_val_batches,
        }


def _train(settings):
    return train(**settings)


def _run_guide():
    """The first script of the chapter, unchanged."""
    with open(GUIDE) as file:
        script = re.search(r"```python\n(.*?)```", file.read(), re.S).group(1)
    exec(compile(script, GUIDE, "exec"), {"__name__": "__main__"})


class Lightning(Offline):
    def setUp(self):
        super().setUp()
        here = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, here)

    def well(self, done):
        self.assertEqual(done["code"], 0, done["log"][-3000:])
        return done["value"]

    def train(self, name, **more):
        return children.run(_train, more, DET_OFFLINE_DIR=self.path(name))

    def kill(self, name, *places, **more):
        for place in places:
            done = self.train(name, kill_at=place, **more)
            self.assertEqual(done["code"], children.KILLED, done["log"][-3000:])

    def steps(self, value, group, name):
        return [step for kind, step, metrics in value["seen"] if kind == group and name in metrics]

    def test_a_training(self):
        value = self.well(self.train("run", after=True))
        self.assertEqual((value["steps"], value["epochs"]), (15, 3))
        self.assertEqual(self.steps(value, "training", "train_loss"), [2, 4, 6, 8, 10, 12, 14])
        self.assertEqual(self.steps(value, "validation", "val_loss"), [5, 10, 15, 15])
        metrics = [each for _, step, each in value["seen"] if step == 10][-1]
        self.assertEqual(set(metrics), {"val_loss", "batches", "epochs"})
        self.assertEqual((metrics["batches"], metrics["epochs"]), (10, 2))
        names = {name for _, _, metrics in value["seen"] for name in metrics}
        self.assertEqual(names, {"train_loss", "val_loss", "batches", "epochs"})
        self.assertEqual(value["progress"], sorted(value["progress"]))
        self.assertEqual(value["progress"][-1], 1.0)
        again = self.well(self.train("run"))  # complete: nothing is trained
        self.assertEqual((again["weights"], again["seen"]), (value["weights"], []))

    def test_a_killed_training_ends_with_the_same_weights(self):
        whole = self.well(self.train("whole"))["weights"]
        self.kill("killed", 1, 3, 6, 9, 10)
        self.assertEqual(self.well(self.train("killed"))["weights"], whole)
        # Random data from workers, validations in the middle of epochs, steps of several batches.
        for settings, places in (
            ({"noise": True, "workers": 1}, (7,)),
            ({"noise": True, "workers": 1, "kind": "det"}, (3, 6, 10)),
            ({"val_check_interval": 2, "accumulate_grad_batches": 2}, (4,)),
        ):
            name = "".join(settings)
            whole = self.well(self.train("whole" + name, **settings))["weights"]
            self.kill(name, *places, **settings)
            self.assertEqual(self.well(self.train(name, **settings))["weights"], whole, settings)

    def test_no_report_is_lost_between_a_checkpoint_and_it(self):
        # After a batch that is saved, and after an epoch that is saved.
        for place, settings in ((("train_loss", 4), {}), (("mean", 10), {"means": True, "batches": None})):
            whole = self.well(self.train("whole" + place[0], **settings))
            done = self.train(place[0], kill_report=place, **settings)
            self.assertEqual(done["code"], children.KILLED, done["log"][-3000:])
            value = self.well(self.train(place[0], **settings))
            self.assertIn(place[1], self.steps(value, "training", place[0]))
            self.assertEqual(value["weights"], whole["weights"])
            for each in value["seen"]:
                self.assertIn(each, whole["seen"])

    def test_where_lightning_is_not_exact(self):
        whole = self.well(self.train("whole", kind="plain", noise=True))["weights"]
        # A loader of PyTorch's own: exact from the beginning of an epoch, and not in its middle.
        for name, batches in (("epoch", None), ("middle", 2)):
            self.kill(name, 8, kind="plain", noise=True, batches=batches)
            done = self.train(name, kind="plain", noise=True, batches=batches)
            self.assertEqual(self.well(done)["weights"] == whole, name == "epoch")
            sentence = "the loader starts from its beginning: some records are seen twice and some not at all"
            self.assertEqual(sentence in done["log"], name == "middle")
        # A scheduler that uses the metrics of an epoch loses those of the epoch in which training was
        # resumed.
        whole = self.well(self.train("plateau", plateau=True))["weights"]
        self.kill("lost", 6, plateau=True)
        self.assertNotEqual(self.well(self.train("lost", plateau=True))["weights"], whole)

    def test_a_training_that_is_asked_to_stop(self):
        whole = self.well(self.train("whole", val_check_interval=2, min_epochs=3))
        seen, trained = [], []
        # After a batch, after a validation in the middle of an epoch, at the end of one.
        for stop_at, steps in ((1, 1), (1, 2), (3, 5), (2, 7)):
            value = self.well(self.train("run", stop_at=stop_at, val_check_interval=2, min_epochs=3))
            self.assertEqual((value["is_preempted"], value["steps"], value["limit"]), (True, steps, 1.0))
            self.assertNotIn(1.0, value["progress"])
            seen += self.steps(value, "validation", "val_loss")
            trained += self.steps(value, "training", "train_loss")
        value = self.well(self.train("run", val_check_interval=2, min_epochs=3))
        self.assertEqual(value["weights"], whole["weights"])
        seen += self.steps(value, "validation", "val_loss")
        trained += self.steps(value, "training", "train_loss")
        self.assertEqual(seen, self.steps(whole, "validation", "val_loss"))
        self.assertEqual(trained, self.steps(whole, "training", "train_loss"))

    def test_two_ranks(self):
        def both(name, **settings):
            return children.run_ranks(2, _train, settings, DET_OFFLINE_DIR=self.path(name))

        whole = [self.well(each) for each in both("whole", noise=True)]
        self.assertEqual(whole[0]["weights"], whole[1]["weights"])
        self.assertEqual(whole[1]["seen"], [])
        self.assertEqual([self.well(each)["steps"] for each in both("run", noise=True, stop_at=7)], [7, 7])
        for value in map(self.well, both("run", noise=True)):
            self.assertEqual(value["weights"], whole[0]["weights"])

    def test_the_script_of_the_guide(self):
        for _ in range(2):  # the second has nothing left to do
            self.well(children.run(_run_guide, DET_OFFLINE_DIR=self.path("guide")))

    # ---- bad input

    def test_what_is_refused(self):
        with self.assertRaisesRegex(TypeError, "core_context is None; expected the context of det.core.init"):
            DetCallback(None)
        with self.assertRaisesRegex(TypeError, "core_context is 1; expected the context of det.core.init"):
            DetLogger(1)
        with core.init() as context:
            for setting in ({"checkpoint_epochs": -1}, {"checkpoint_batches": 0}, {"checkpoint_epochs": True}):
                with self.assertRaisesRegex(ValueError, "expected a whole number of at least"):
                    DetCallback(context, **setting)
            self.write("other/weights", "1")
            uuid = context.checkpoint.upload(self.path("other"), {"steps_completed": 4})
        with core.init() as context:
            with self.assertRaisesRegex(FileNotFoundError, f"checkpoint {uuid} has no 'lightning.ckpt'"):
                DetCallback(context)
        for loader, sentence in (
            (iter([1]), "expected one that can be read repeatedly"),
            (3, "the loader is of type int"),
            (torch.utils.data.DataLoader(Endless()), "the loader has no length"),
        ):
            with self.assertRaisesRegex(TypeError, sentence):
                Resumable(loader)
        with self.assertRaisesRegex(TypeError, r"needs Resumable\(loader, core_context\), to know the seed"):
            Resumable(det.pytorch.DataLoader(Points(), 4))
        with self.assertRaisesRegex(ValueError, "a loader with persistent_workers cannot be resumed"):
            Resumable(torch.utils.data.DataLoader(Points(), num_workers=1, persistent_workers=True))

    def test_a_callback_given_twice_and_a_checkpoint_not_resumed_from(self):
        self.assertIn("RuntimeError: the Trainer has two DetCallbacks", self.train("twice", twice=True)["error"])
        self.well(self.train("anew", stop_at=2))
        done = self.train("anew", resume=False)
        self.assertEqual(self.well(done)["steps"], 15)
        self.assertIn("training starts from the beginning although there is a checkpoint", done["log"])

    # ---- the logger alone, in the other package

    def test_the_logger_alone_and_the_other_package(self):
        script = """if True:
            import pytorch_lightning as pl, sys, torch
            from determined import core, lightning
            assert lightning.experimental.DetLogger is lightning.DetLogger
            assert issubclass(lightning.DetCallback, pl.Callback) and "lightning.pytorch" not in sys.modules
            class Module(pl.LightningModule):
                def __init__(self):
                    super().__init__()
                    self.net = torch.nn.Linear(2, 1)
                def training_step(self, batch, at):
                    loss = self.net(batch).sum()
                    self.log("loss", loss)
                    return loss
                def validation_step(self, batch, at):
                    self.log("val_loss", self.net(batch).sum())
                def configure_optimizers(self):
                    return torch.optim.SGD(self.parameters(), 0.1)
            data = torch.utils.data.DataLoader(torch.ones(4, 2), 2)
            def fit(**more):
                trainer = pl.Trainer(max_epochs=2, accelerator="cpu", log_every_n_steps=1, enable_progress_bar=False,
                                     enable_model_summary=False, **more)
                trainer.fit(Module(), data, data)
                return trainer
            fit(logger=lightning.experimental.DetLogger(), enable_checkpointing=False)
            with core.init() as context:
                callbacks = [lightning.DetCallback(context)]
                assert fit(callbacks=callbacks, logger=lightning.DetLogger(context)).global_step == 4
            with core.init() as context:
                assert lightning.DetCallback(context).ckpt_path.endswith("lightning.ckpt")
        """
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        reported = self.reported()
        for word in (b"training", b"validation", b"val_loss"):
            self.assertIn(word, reported)


class Endless(torch.utils.data.IterableDataset):
    def __iter__(self):
        return iter([torch.zeros(4)])


if __name__ == "__main__":
    unittest.main()
