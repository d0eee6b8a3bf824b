# SPDX-License-Identifier: Apache-2.0
"""The rest of the public API: configurations, the base class of trials, helpers, logging."""
import json
import logging
import math
import os
import subprocess
import sys
import unittest
from types import SimpleNamespace

from offline_case import Offline

import determined as det
from determined import core, util


class Config(unittest.TestCase):
    def test_an_empty_one_has_answers(self):
        config = det.ExperimentConfig({})
        self.assertIsInstance(config, dict)
        self.assertEqual(
            (config.slots_per_trial(), config.debug_enabled(), config.experiment_seed()), (1, False, 0)
        )
        self.assertEqual((config.scheduling_unit(), config.get_records_per_epoch()), (100, None))
        self.assertEqual((config.get_data(), config.get_checkpoint_storage()), ({}, {}))
        self.assertEqual((config.get_entrypoint(), config.profiling_enabled()), (None, False))
        self.assertTrue(config.searcher_smaller_is_better())
        self.assertRaisesRegex(ValueError, "searcher.metric", config.get_searcher_metric)

    def test_what_is_configured_is_answered(self):
        config = det.ExperimentConfig(
            entrypoint="python3 a.py",
            debug=True,
            resources={"slots_per_trial": 0},
            reproducibility={"experiment_seed": 7},
            searcher={"metric": "loss", "max_length": {"epochs": 2}, "smaller_is_better": False},
            min_validation_period={"batches": 5},
            records_per_epoch=60000,
            data=None,
        )
        self.assertEqual(config.slots_per_trial(), 0)
        self.assertEqual((config.experiment_seed(), config.get_searcher_metric()), (7, "loss"))
        self.assertEqual(config.get_searcher_max_length(), {"epochs": 2})
        self.assertEqual(config.get_min_validation_period(), {"batches": 5})
        self.assertEqual((config.get_data(), config.get_records_per_epoch()), ({}, 60000))
        self.assertFalse(config.searcher_smaller_is_better())


class Trial(Offline):
    def test_a_context_knows_hyperparameters_and_configuration(self):
        context = det.TrialContext.from_config({"data": {"x": 1}}, {"global_batch_size": 32, "lr": 0.5})
        self.addCleanup(context._core.close)
        self.assertEqual((context.get_hparam("lr"), context.get_data_config()), (0.5, {"x": 1}))
        self.assertEqual((context.get_global_batch_size(), context.get_per_slot_batch_size()), (32, 32))
        self.assertRaisesRegex(ValueError, "no hyperparameter 'width'; there are: global", context.get_hparam, "width")
        self.assertRaises(RuntimeError, context.get_trial_id)
        self.assertEqual((context.get_trial_seed(), context.get_initial_batch()), (0, 0))
        self.assertFalse(context.get_stop_requested())
        context.set_stop_requested(True)
        self.assertTrue(context.get_stop_requested())
        self.assertRaises(TypeError, context.set_stop_requested, 1)
        self.assertTrue(context.get_tensorboard_path().is_dir())

    def test_ranks_share_a_batch(self):
        with core.init() as plain:
            context = det.TrialContext(plain, hparams={"global_batch_size": 10})
            sizes = []
            for rank in range(4):
                context.distributed = SimpleNamespace(rank=rank, size=4)
                sizes.append(context.get_per_slot_batch_size())
            self.assertEqual(sizes, [3, 3, 2, 2])
            context._hparams = {"global_batch_size": 3}
            self.assertRaises(ValueError, context.get_per_slot_batch_size)
            context._hparams = {"global_batch_size": "x"}
            self.assertRaises(ValueError, context.get_global_batch_size)

    def test_trials_and_controllers_are_to_be_written(self):
        self.assertRaises(TypeError, det.LegacyTrial, None)
        self.assertRaises(TypeError, det.TrialController, None)

        class Mine(det.LegacyTrial):
            def __init__(self, context):
                self.context = context

        self.assertEqual(Mine(3).context, 3)

    def test_what_a_trial_uses_is_noted(self):
        with core.init() as context:
            context.experimental.report_task_using_checkpoint("some-uuid")
            version = SimpleNamespace(
                model_version=3, name="mnist", checkpoint=SimpleNamespace(uuid="another")
            )
            context.experimental.report_task_using_model_version(version)
            self.assertEqual(
                context.train.get_metadata()["uses"],
                {"checkpoints": {"some-uuid": True, "another": True}, "model_versions": {"mnist": 3}},
            )
            self.assertRaises(TypeError, context.experimental.report_task_using_checkpoint, 7)
            self.assertRaises(TypeError, context.experimental.report_task_using_model_version, "x")

    def test_a_stop_of_ones_own_is_accepted(self):
        with core.init() as context, self.assertLogs("determined.core", logging.INFO):
            context.train.report_early_exit(core.EarlyExitReason.USER_REQUESTED_STOP)
        self.assertNotIn(b"EXITED_REASON", self.reported())


class Util(Offline):
    def test_helpers(self):
        self.assertEqual([list(part) for part in util.chunks([1, 2, 3, 4, 5], 2)], [[1, 2], [3, 4], [5]])
        self.assertRaises(ValueError, util.chunks, [1], 0)
        self.assertTrue(util.is_numerical_scalar(1.5) and util.is_numerical_scalar(3))
        self.assertFalse(util.is_numerical_scalar(True) or util.is_numerical_scalar("1"))
        self.assertEqual(json.loads(util.json_encode({"a": [math.nan, 1]})), {"a": ["NaN", 1]})

        class Base:
            def hook(self):
                pass

        class Own(Base):
            def hook(self):
                pass

        self.assertTrue(util.is_overridden(Own().hook, Base))
        self.assertFalse(util.is_overridden(Base().hook, Base))

    def test_links_and_files(self):
        self.write("a/one", "1")
        self.write("a/b/two", "2")
        self.assertEqual([str(path) for path in util.list_files(self.path("a"))], ["b/two", "one"])
        for target in ("one", "b/two"):
            util.force_create_symlink(target, self.path("a", "link"))
            self.assertEqual(os.readlink(self.path("a", "link")), target)


class Logging(unittest.TestCase):
    def lines(self, code):
        code = "from determined import _logging; import logging\n" + code
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        return done.stderr

    def test_the_package_is_heard_where_nothing_is_set_up(self):
        said = self.lines(
            "_logging.set_up(False); _logging.set_up(False)\n"
            "logging.getLogger('determined.core').info('hello')\n"
        )
        self.assertRegex(said, r"^INFO: \[\d+\] determined.core: hello\n$")

    def test_a_programs_own_logging_wins(self):
        said = self.lines(
            "_logging.set_up(False)\nlogging.basicConfig(format='mine %(message)s')\n"
            "logging.getLogger('determined.core').info('hello')\n"
        )
        self.assertEqual(said, "mine hello\n")


if __name__ == "__main__":
    unittest.main()
