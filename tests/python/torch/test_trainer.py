# SPDX-License-Identifier: Apache-2.0
"""Both forms of the Trainer API, without a master: where hyperparameters come from, what decides the length, when
it validates and saves."""
import os
import pathlib
import subprocess
import sys
import unittest
from unittest import mock

import torch
import training
from torch import nn
from training import Reports, Trial, Training

import determined as det
from determined import pytorch
from determined.pytorch import _local_config

SEED_YAML = """\
entrypoint_script: python3 train.py
hyperparameters:
    lr: 0.5
    global_batch_size:
        type: categorical
        vals: [16, 32, 64]
    momentum: {type: double, minval: 0.2, maxval: 0.4, count: 2}
searcher:
    name: "grid"
    max_length:
        epochs: 2
data: {name: ones}
"""


class Seed(Training):
    """context = det.pytorch.init(); context.build_trial(); context.fit() and train()."""

    def test_data_is_passed_or_built_and_metrics_come_back(self):
        context = pytorch.init(hparams=training.HPARAMS)
        size = context.distributed.shard_batch_size(context.training.hparams["global_batch_size"])
        self.assertEqual(size, 8)
        with self.assertRaisesRegex(ValueError, "global_batch_size is 0; expected a whole number"):
            context.distributed.shard_batch_size(0)
        trial = context.build_trial(Trial)
        self.assertIsNot(trial.context, context)
        rows = torch.utils.data.TensorDataset(training.X[:16], training.Y[:16])
        reports = Reports(self)
        metrics = context.fit(
            trial,
            pytorch.DataLoader(rows, batch_size=size),
            pytorch.DataLoader(rows, batch_size=size),
            min_validation_period=det.Epochs(1),
            min_checkpoint_period=det.Epochs(1),
            max_length=det.Epochs(3),
        )
        self.assertEqual([steps for steps, _ in reports.validation], [2, 4, 6])
        self.assertEqual(metrics, {"validation_loss": reports.validation[-1][1]["validation_loss"]})
        self.assertEqual([steps for steps, _ in self.checkpoints()], [2, 4, 6])
        with self.assertRaisesRegex(RuntimeError, "already called: a trial is one training"):
            context.fit(trial, max_length=det.Epochs(4))
        again = context.build_trial(Trial)  # resumes from the run's latest checkpoint
        context.train(again, pytorch.DataLoader(rows, batch_size=size), max_length=det.Records(64))
        self.assertEqual(self.checkpoints()[-1][0], 8)

    def test_a_script_hears_that_it_was_only_paused(self):
        class Asked:
            """The ranks; with the third batch the slots are wanted back."""

            def __init__(self, group):
                self.group, self.batches = group, 0

            def __getattr__(self, name):
                return getattr(self.group, name)

            def preempted(self, det, mode):
                self.batches += 1
                return self.batches == 3

        context = self.context()
        with mock.patch.object(context.distributed, "_group", Asked(context.distributed._group)):
            context.fit(context.build_trial(Trial), max_length=det.Batches(5))
        self.assertTrue(context.is_preempted)
        self.assertEqual(self.checkpoints()[-1][0], 3)
        context.fit(context.build_trial(Trial), max_length=det.Batches(5))
        self.assertFalse(context.is_preempted)
        self.assertEqual(self.checkpoints()[-1][0], 5)

    def test_what_is_no_trial(self):
        context = self.context()
        with self.assertRaisesRegex(TypeError, "build_trial.. was given .*Linear.*; expected a subclass"):
            context.build_trial(nn.Linear)
        with self.assertRaisesRegex(TypeError, "the trial is of type|was not made by"):
            context.fit("trial")
        with self.assertRaisesRegex(TypeError, "Trial is a class; expected a trial of it"):
            context.fit(Trial)
        with self.assertRaisesRegex(TypeError, "min_checkpoint_period is 3; expected"):
            context.fit(context.build_trial(Trial), min_checkpoint_period=3)

        class Nothing(pytorch.PyTorchTrial):
            pass

        with self.assertRaisesRegex(TypeError, "Nothing has no train_batch"):
            context.build_trial(Nothing)

    def test_invalid_hyperparameters_end_the_program_with_0(self):
        class Invalid(Trial):
            def __init__(self, context):
                raise det.InvalidHP("too large")

        with self.assertRaises(SystemExit) as caught, self.assertLogs("determined.core", "WARNING"):
            self.context().build_trial(Invalid)
        self.assertEqual(caught.exception.code, 0)

    def test_a_job_trains_nothing(self):
        context = self.context()
        context._core.info = mock.Mock(task_type="GENERIC", user_data={"trial_id": 7})
        self.assertEqual(context.config_data, {"trial_id": 7})
        self.assertFalse(hasattr(context, "training"))
        with self.assertRaisesRegex(AttributeError, "context.training does not exist: this task is a GENERIC, a job and not a training"):
            context.training
        trial = context.build_trial(Trial)
        with self.assertRaisesRegex(RuntimeError, "this task cannot train: it is a GENERIC"):
            context.fit(trial)


class Places(Training):
    """Where hyperparameters come from in an offline run."""

    def setUp(self):
        super().setUp()
        patch = mock.patch.object(_local_config, "_folder", lambda: self.folder)
        patch.start()
        self.addCleanup(patch.stop)

    def test_arguments_come_first(self):
        self.write("const.yaml", SEED_YAML)
        self.assertEqual(pytorch.init(hparams={"lr": 1}).training.hparams, {"lr": 1})

    def test_a_file_beside_the_script(self):
        self.write("grid.yaml", SEED_YAML)
        with self.assertLogs("determined.pytorch", "WARNING") as logs:
            context = pytorch.init()
        self.assertEqual(context.training.hparams["global_batch_size"], 16)
        self.assertAlmostEqual(context.get_hparam("momentum"), 0.3)
        self.assertEqual(len(logs.output), 2)
        self.assertIn("'global_batch_size' is searched; this offline run uses 16", logs.output[0])
        self.assertEqual(context.config_data, {"name": "ones"})
        self.assertEqual(context.get_experiment_config().get_searcher_max_length(), {"epochs": 2})
        self.close_all()
        self.write("const.yaml", SEED_YAML.replace("lr: 0.5", "lr: 0.25"))  # takes precedence
        self.write("other.yaml", SEED_YAML)
        self.write("no.yaml", "a: 1\n")
        self.assertEqual(pytorch.init().get_hparam("lr"), 0.25)
        self.close_all()
        os.environ["DET_CONFIG"] = self.write("else/other.yaml", SEED_YAML.replace("lr: 0.5", "lr: 4"))
        self.assertEqual(pytorch.init().get_hparam("lr"), 4)
        self.close_all()
        os.environ["DET_HPARAMS"] = '{"lr": 8}'  # det e create --local
        self.assertEqual(pytorch.init().get_hparam("lr"), 8)

    def test_a_jobs_file_has_data(self):
        os.environ["DET_CONFIG"] = self.write("job.yaml", "entrypoint: python3 b.py\ndata: {trial_id: 7}\nresources: {slots: 1}\n")
        self.assertEqual(pytorch.init().config_data, {"trial_id": 7})

    def test_one_clear_error(self):
        context = pytorch.init()
        wanted = r"there is no hyperparameter 'lr': no configuration was found in '.*'; give them to det.pytorch.init\(hparams=...\)"
        for ask in (lambda: context.training.hparams["lr"], lambda: context.get_hparam("lr"), lambda: context.hparams["lr"]):
            with self.assertRaisesRegex(ValueError, wanted):
                ask()
        self.close_all()
        self.write("a.yaml", SEED_YAML)
        self.write("b.yaml", SEED_YAML)
        with self.assertRaisesRegex(ValueError, r"several files beside the script have a searcher \(a.yaml, b.yaml\)"):
            pytorch.init().training.hparams["lr"]
        self.close_all()
        os.environ["DET_CONFIG"] = self.path("none.yaml")
        with self.assertRaisesRegex(FileNotFoundError, "DET_CONFIG is '.*none.yaml', but there is no such file"):
            pytorch.init()
        os.environ["DET_CONFIG"] = self.write("wrong.yaml", "searcher: {name: single, max_lenth: 5}\n")
        with self.assertRaisesRegex(ValueError, "wrong.yaml' cannot be used: .*max_lenth"):
            pytorch.init()
        for name in ("hparams", "exp_conf"):
            with self.assertRaisesRegex(TypeError, f"{name} is of type str; expected a dict"):
                pytorch.init(**{name: "x"})


class Length(Training):
    """T9: who decides."""

    CONFIG = {"searcher": {"name": "single", "metric": "validation_loss", "max_length": {"batches": 4}}}

    def trained(self):
        return self.checkpoints()[-1][0]

    def test_trainer_fit_the_argument_wins_and_the_searcher_is_the_fallback(self):
        self.fit(config=self.CONFIG, max_length=pytorch.Batch(2))
        self.assertEqual(self.trained(), 2)
        self.in_folder("fallback")
        self.fit(config=self.CONFIG, max_length=None)
        self.assertEqual(self.trained(), 4)
        self.in_folder("none")
        with self.assertRaisesRegex(ValueError, "nothing says how long to train: give max_length"):
            self.fit(max_length=None)
        for wrong, sentence in ((5, "max_length is 5; expected det.pytorch.Batch"), (pytorch.Batch([1, 2]), "not single steps")):
            self.close_all()
            with self.assertRaisesRegex((TypeError, ValueError), sentence):
                self.fit(max_length=wrong)

    def seed(self, on_cluster, **options):
        context = self.context(exp_conf=self.CONFIG)
        context._core._values = dict(context._core._values, is_on_cluster=on_cluster)
        context.fit(context.build_trial(Trial), **options)
        return self.trained()

    def test_the_seeds_form_the_searcher_wins_on_the_cluster_and_max_length_locally(self):
        self.assertEqual(self.seed(False, max_length=det.Batches(3)), 3)
        self.in_folder("cluster")
        self.assertEqual(self.seed(True, max_length=det.Batches(3)), 4)
        self.in_folder("local, silent")
        self.assertEqual(self.seed(False), 4)


class Fit(Training):
    """The current form: Trainer(trial, context).fit()."""

    def steps(self):
        return [steps for steps, _ in self.checkpoints()]

    def test_policies(self):
        class Bad(Trial):
            """Every second validation is worse."""

            def evaluate_batch(self, batch):
                batches = self.context.current_train_batch()
                return {"validation_loss": 10 - batches if batches % 2 else 20}

        wanted = {"best": [1, 3, 5, 6], "all": [1, 2, 3, 4, 5, 6], "none": [6]}
        for policy, steps in wanted.items():
            self.in_folder(policy)
            self.fit(Bad, max_length=pytorch.Batch(6), validation_period=pytorch.Batch(1), checkpoint_policy=policy)
            self.assertEqual(self.steps(), steps, policy)
        with self.assertRaisesRegex(ValueError, "checkpoint_policy is 'worst'; expected one of best, all, none"):
            self.fit(checkpoint_policy="worst")

    def test_single_steps(self):
        reports = Reports(self)
        self.fit(
            max_length=pytorch.Epoch(3),
            validation_period=pytorch.Epoch([1, 3]),
            checkpoint_period=pytorch.Batch({4, 13}),
            reporting_period=pytorch.Batch(range(2, 100, 7)),
            checkpoint_policy="none",
        )
        self.assertEqual([steps for steps, _ in reports.validation], [9, 27])
        self.assertEqual(self.steps(), [4, 13, 27])
        self.assertEqual([steps for steps, _ in reports.training], [2, 9, 16, 23, 27])

    def test_step_zero_validation(self):
        reports = Reports(self)
        self.fit(step_zero_validation=True, max_length=pytorch.Batch(2))
        self.assertEqual([steps for steps, _ in reports.validation], [0, 2])
        self.assertEqual(self.steps(), [2])
        with self.assertRaisesRegex(TypeError, "step_zero_validation is 1; expected True or False"):
            self.fit(step_zero_validation=1)

    def test_test_mode_trains_validates_and_saves_one(self):
        seen = []

        class Counts(Trial):
            def evaluate_batch(self, batch):
                seen.append(1)
                return super().evaluate_batch(batch)

        self.fit(Counts, test_mode=True, max_length=pytorch.Epoch(100))
        self.assertEqual((self.steps(), seen), ([1], [1]))
        self.in_folder("environment")
        os.environ["DET_TEST_MODE"] = "1"
        self.fit(Counts, max_length=None)
        self.assertEqual(self.steps(), [1])

    def test_what_a_checkpoint_holds(self):
        trial = self.fit(config={"data": {"a": 1}})
        _, folder = self.checkpoints()[-1]
        names = set(os.listdir(folder))
        self.assertLessEqual({"state_dict.pth", "trial_state.pkl", "load_data.json", "metadata.json", "code"}, names)
        metadata = det.util.json.loads(pathlib.Path(folder, "metadata.json").read_text())
        self.assertEqual((metadata["steps_completed"], metadata["format"]), (9, "pickle"))
        self.assertEqual(metadata["framework"], f"torch-{torch.__version__}")
        said = det.util.json.loads(pathlib.Path(folder, "load_data.json").read_text())
        self.assertEqual((said["trial_type"], said["trial_cls_spec"], said["is_trainer"]), ("PyTorchTrial", "training:Trial", True))
        self.assertEqual((said["hparams"], said["experiment_config"]["data"]), (training.HPARAMS, {"a": 1}))
        self.assertEqual(sorted(os.listdir(os.path.join(folder, "code"))), ["test_trainer.py", "training.py"])
        state = torch.load(os.path.join(folder, "state_dict.pth"))["models_state_dict"][0]
        self.assertTrue(torch.equal(state["0.weight"], trial.model.state_dict()["0.weight"]))

    def test_a_trial_that_build_trial_made(self):
        with self.context() as context:
            trial = context.build_trial(Trial)
            pytorch.Trainer(trial, context).fit(max_length=pytorch.Batch(2))
        self.assertEqual(self.checkpoints()[-1][0], 2)

    def test_wrong_arguments(self):
        context = self.context()
        for make in (lambda: pytorch.Trainer("trial", context), lambda: pytorch.Trainer(context.build_trial(Trial), None)):
            with self.assertRaisesRegex(TypeError, r"Trainer\(\) was given a "):
                make()
        with self.assertWarnsRegex(FutureWarning, "configure_profiler"):
            pytorch.Trainer(context.build_trial(Trial), context).configure_profiler(enabled=True)

    def test_gan_two_models_two_optimizers(self):
        class Gan(pytorch.PyTorchTrial):
            def __init__(self, context):
                self.context = context
                self.one, self.other = (context.wrap_model(nn.Linear(6, 6)) for _ in range(2))
                self.opts = [context.wrap_optimizer(torch.optim.Adam(each.parameters(), lr=0.01)) for each in (self.one, self.other)]

            def train_batch(self, batch, epoch_idx, batch_idx):
                found = {}
                for name, opt, loss in (
                    ("g", self.opts[0], lambda: self.other(self.one(batch[0])).pow(2).mean()),
                    ("d", self.opts[1], lambda: -self.other(self.one(batch[0]).detach()).pow(2).mean()),
                ):
                    value = loss()
                    self.context.backward(value)
                    self.context.step_optimizer(opt)
                    found[name] = value
                return found

        context = self.context()
        metrics = context.fit(context.build_trial(Gan), training.loader(), max_length=det.Epochs(1))
        self.assertEqual(sorted(metrics), ["d", "g"])


MODEL_DEF = """
from training import Trial as Base

class Trial(Base):
    pass

class Broken(Base):
    def train_batch(self, batch, epoch_idx, batch_idx):
        return batch["image"]
"""

CONST = """
name: by class
entrypoint: model_def:Trial
hyperparameters: {global_batch_size: 8, lr: 0.1}
searcher: {name: single, metric: validation_loss, max_length: {epochs: 5}}
"""


class ByClass(Training):
    """entrypoint: model_def:Trial, through det e create --local."""

    def test_local_and_test(self):
        self.write("def/model_def.py", MODEL_DEF)
        self.write("def/const.yaml", CONST)
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path[1:]))
        words = [os.environ.get("DET") or self.before["DET"], "e", "create", "--local=" + self.path("run"), "--test"]
        done = subprocess.run(
            [*words, "const.yaml", "."], cwd=self.path("def"), env=environment, capture_output=True, text=True
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual([steps for steps, _ in self.checkpoints()], [1])
        said = det.util.json.loads(pathlib.Path(self.checkpoints()[0][1], "load_data.json").read_text())
        self.assertEqual((said["trial_cls_spec"], said["is_trainer"]), ("model_def:Trial", False))

    def test_the_users_traceback_comes_first(self):
        import contextlib
        import io

        from determined.exec import harness

        self.write("model_def.py", MODEL_DEF)
        os.environ["DET_EXPERIMENT_CONFIG"] = '{"searcher": {"max_length": {"batches": 2}}}'
        told, here = io.StringIO(), os.getcwd()
        os.chdir(self.folder)
        try:
            with contextlib.redirect_stderr(told):
                self.assertEqual(harness.main(["model_def:Broken"]), 1)
        finally:
            os.chdir(here)
            sys.path.remove(self.folder)
            sys.modules.pop("model_def")
        lines = told.getvalue().splitlines()
        self.assertEqual(lines[0], "Traceback (most recent call last):")
        self.assertIn('model_def.py", line 9, in train_batch', lines[1])
        self.assertNotIn("_loop.py", told.getvalue())


if __name__ == "__main__":
    unittest.main()
