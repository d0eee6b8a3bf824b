# SPDX-License-Identifier: Apache-2.0
"""determined.core in offline runs."""
import json
import logging
import math
import os
import pathlib
import signal
import subprocess
import sys
import unittest
from unittest import mock

from offline_case import Offline

import determined as det
from determined import core, errors
from determined.core import _metrics


class Core(Offline):
    def open(self, **config):
        if config:
            os.environ["DET_EXPERIMENT_CONFIG"] = json.dumps(config)
        context = core.init()
        self.addCleanup(context.close)
        return context


class Metrics(Core):
    def test_reports_of_all_kinds_are_accepted(self):
        train = self.open().train
        train.report_training_metrics(1, {"loss": 0.5, "count": 3})
        train.report_training_metrics(2, {"loss": math.nan, "a": math.inf, "b": -math.inf})
        train.report_training_metrics(3, {"words": "some words", "yes": True, "nothing": None})
        train.report_training_metrics(4, {"deep": {"list": [1, 2.5, [math.nan]], "t": (1, 2)}})
        train.report_training_metrics(5, {"loss": 1}, batch_metrics=[{"loss": 1.0}, {"loss": 2}])
        train.report_validation_metrics(5, {"loss": 0.25})
        train.report_metrics("mine", 5, {"speed": 1e9})
        train.set_status("validating")
        train.report_progress(0.5)
        found = self.reported()
        for word in (b"some words", b'"list":[1,2.5,["NaN"]]', b"speed", b"validating"):
            self.assertIn(word, found)

    def test_numbers_of_arrays_are_numbers(self):
        try:
            import numpy as np
        except ImportError:
            self.skipTest("numpy is not here")
        train = self.open().train
        train.report_training_metrics(
            np.int64(1), {"f32": np.float32(0.5), "i": np.int8(3), "f64": np.float64(0.1)}
        )
        plain = _metrics.plain_metrics(
            {"f": np.float32(0.5), "nan": np.float64("nan"), "a": np.ones((1, 1)), "b": np.bool_(1)}
        )
        self.assertEqual(plain, {"f": 0.5, "nan": "NaN", "a": 1.0, "b": True})

    def test_each_number_of_an_array_is_a_metric(self):
        try:
            import numpy as np
        except ImportError:
            self.skipTest("numpy is not here")
        train = self.open().train
        train.report_validation_metrics(1, {"f1": np.array([0.25, math.nan], "float32"), "loss": 1.0})
        train.report_training_metrics(2, {"loss": 1.0}, batch_metrics=[{"loss": np.arange(2)}])
        found = [each in self.reported() for each in (b"f1.0", b"f1.1", b"loss.1", b"f1.2")]
        self.assertEqual(found, [True, True, True, False])
        plain = _metrics.plain_metrics({"m": np.arange(4).reshape(2, 2), "list": [1, 2], "dict": {"a": np.arange(2)}})
        self.assertEqual(
            plain, {"m.0.0": 0, "m.0.1": 1, "m.1.0": 2, "m.1.1": 3, "list": [1, 2], "dict": {"a": [0, 1]}}
        )
        kept = {"words": np.array(["a", "b"]), "yes": np.array([True, False]), "none": np.zeros(0)}
        kept["many"] = np.zeros(1001)
        self.assertEqual(list(_metrics.plain_metrics(kept)), list(kept))
        with self.assertRaisesRegex(ValueError, "there are two metrics 'a.0': one is a number of the array 'a'"):
            train.report_training_metrics(1, {"a": np.arange(2), "a.0": 1.0})

    def test_what_looks_like_a_tensor_is_taken(self):
        class Tensor:
            requires_grad = True

            def detach(self):
                return Detached()

        class Detached:
            def item(self):
                return 0.5

            tolist = item

        Tensor.tolist = None
        Tensor.item = lambda self: self.fail()
        self.assertEqual(_metrics.plain_metrics({"x": Tensor()}), {"x": 0.5})

    def test_bytes_are_left_out_with_a_warning(self):
        train = self.open().train
        with self.assertLogs("determined.core", logging.WARNING) as log:
            train.report_training_metrics(1, {"picture": b"123", "loss": 1.0})
        self.assertIn("metric 'picture' is bytes", log.output[0])
        self.assertNotIn(b"picture", self.reported())

    def test_a_validation_metric_must_not_be_none(self):
        train = self.open().train
        with self.assertRaisesRegex(RuntimeError, "the validation metric 'loss' is null"):
            train.report_validation_metrics(1, {"loss": None})

    def test_wrong_types_are_refused_in_a_sentence(self):
        train = self.open().train
        for metrics, sentence in (
            ({"loss": object()}, "metric 'loss' is of type object"),
            ({"a": {"b": {1, 2}}}, "metric 'a.b' is of type set"),
            ({1: 2.0}, "the name of a metric is 1"),
            ([1.0], "the metrics are of type list"),
            (None, "the metrics are of type NoneType"),
        ):
            with self.assertRaisesRegex(TypeError, sentence):
                train.report_training_metrics(1, metrics)
        for steps in ("1", 1.5, None):
            with self.assertRaisesRegex(TypeError, "steps_completed is"):
                train.report_training_metrics(steps, {"loss": 1.0})
        self.assertRaises(ValueError, train.report_training_metrics, -1, {"loss": 1.0})
        self.assertRaises(OverflowError, train.report_training_metrics, 1 << 70, {"loss": 1.0})
        self.assertRaises(TypeError, train.report_training_metrics, 1, {"a": 1}, {"a": 1})
        self.assertRaises(ValueError, train.report_metrics, "a.b", 1, {"x": 1.0})
        self.assertRaises(ValueError, train.report_progress, 1.5)
        self.assertRaises(ValueError, train.report_progress, math.nan)
        self.assertRaises(TypeError, train.set_status, 7)
        self.assertRaises(TypeError, train.report_early_exit, "INVALID_HP")

    def test_metrics_that_hold_themselves_are_refused(self):
        endless = {}
        endless["x"] = endless
        with self.assertRaisesRegex(ValueError, "nested more than"):
            self.open().train.report_training_metrics(1, endless)

    def test_notes_are_kept(self):
        train = self.open().train
        self.assertIsNone(train.get_metadata())
        self.assertEqual(train.set_metadata({"a": 1}), {"a": 1})
        self.assertEqual(train.get_metadata(), {"a": 1})
        self.assertRaises(TypeError, train.set_metadata, [1])
        self.assertIsNone(train.get_experiment_best_validation())
        train.set_metadata({"deep": {"x": 1, "words": "y" * 10000}})
        again = self.open().train  # a second run
        self.assertEqual(again.set_metadata({"deep": {"x": 2}})["deep"], {"x": 2, "words": "y" * 10000})
        self.assertEqual(again.get_metadata()["a"], 1)

    def test_notes_are_there_in_the_next_run(self):
        context = self.open()
        context.train.set_metadata({"a": 1})
        context.close()
        train = self.open().train
        self.assertEqual(train.set_metadata({"b": 2}), {"a": 1, "b": 2})

    def test_numbers_are_written_for_tensorboard(self):
        context = self.open()
        folder = context.train.get_tensorboard_path()
        self.assertEqual(str(folder), self.path("run", "tensorboard"))
        self.assertRaises(RuntimeError, context.train.upload_tensorboard_files)
        context.train.report_training_metrics(1, {"loss": 0.5, "text": "no curve"})
        context.train.report_validation_metrics(1, {"acc": 1})
        context.train.report_metrics("other", 1, {"hidden": 1.0})
        context.close()
        (file,) = folder.iterdir()
        found = file.read_bytes()
        self.assertIn(b"training/loss", found)
        self.assertIn(b"validation/acc", found)
        self.assertNotIn(b"text", found)
        self.assertNotIn(b"hidden", found)

    def test_files_for_tensorboard_are_copied_on_demand(self):
        context = core.init(tensorboard_mode=core.TensorboardMode.MANUAL)
        self.addCleanup(context.close)
        context.train.report_training_metrics(1, {"loss": 0.5})
        folder = context.train.get_tensorboard_path()
        (folder / "deep").mkdir()
        (folder / "deep" / "a").write_text("one")
        (folder / "b").write_text("two")
        context.train.upload_tensorboard_files(
            lambda path: path.name == "a", lambda path, rank: path.with_name(f"{path.name}#{rank}")
        )
        there = pathlib.Path(self.path("run", "tensorboard"))
        self.assertEqual([str(path.relative_to(there)) for path in there.rglob("*")], ["deep", "deep/a#0"])
        (folder / "deep" / "a").write_text("longer")
        context.train.upload_tensorboard_files()
        self.assertEqual((there / "deep" / "a").read_text(), "longer")
        self.assertEqual((there / "b").read_text(), "two")
        with self.assertRaisesRegex(ValueError, "inside of the folder"):
            context.train.upload_tensorboard_files(mangler=lambda path, rank: pathlib.Path("../x"))



class Media(Core):
    PNG = b"\x89PNG\r\n\x1a\n...."

    class Pixels:  # as much of an array as is used
        def __init__(self, shape, dtype="uint8"):
            self.shape, self.dtype = shape, dtype

        def tobytes(self):
            return bytes(math.prod(self.shape))

    def test_media_of_all_kinds_are_accepted(self):
        train = self.open().train
        ring = pathlib.Path(os.environ["DET_OFFLINE_DIR"]) / "reports"
        page = pathlib.Path(os.environ["DET_OFFLINE_DIR"]) / "page.html"
        page.write_text("<p>from a file")
        train.report_media("bytes", 1, self.PNG)
        train.report_media("text", 1, "some words")
        train.report_media("html", 1, "<b>bold</b>", type="html")
        train.report_media("file", 1, page)
        train.report_media("table", 1, [{"a": 1, "b": "x"}, {"a": math.nan, "c": None}])
        train.report_media("columns", 1, {"columns": ["a"], "rows": [[1]]})
        train.report_media("histogram", 1, {"edges": [0, 1, 2], "counts": [3, 4]})
        train.report_media("numpy", 1, ([3, 4], [0, 1, 2]), type="histogram")
        train.report_media("pixels", 1, self.Pixels((2, 3, 3)))
        train.report_media("grey", 1, self.Pixels((2, 3)))
        there = b"".join(path.read_bytes() for path in sorted(ring.iterdir()))
        for part in (b"bytes" + self.PNG, b"textsome words", b"html<b>bold</b>", b"file<p>from a file",
                     b'{"columns": ["a", "b", "c"], "rows": [[1, "x", null], ["NaN", null, null]]}',
                     b'numpy{"edges": [0, 1, 2], "counts": [3, 4]}', b"pixels\x89PNG", b"grey\x89PNG"):  # fmt: skip
            self.assertIn(part, there)

    def test_wrong_media_are_refused_and_the_message_says_what_to_do(self):
        train = self.open().train
        for data, kind, text in (
            (b"xxx", None, "set the type"),
            (b"xxx", "png", "do not begin like"),
            ("x", "bmp", "expected one of png"),
            (3.5, None, "of type float is not media"),
            ([], None, "of type list is not media"),
            ({"columns": ["a"], "rows": [[1, 2]]}, None, "row 1"),
            ({"columns": ["a"], "rows": [[1]]}, "histogram", "is a table"),
            (self.Pixels((2, 3, 3), "float32"), None, "scale it to 0..255"),
            (self.Pixels((3, 20, 20)), None, "permute"),
            (pathlib.Path("/none/at/all.png"), None, "/none/at/all.png"),
            (bytes(4000001), "text", "4000000 at most"),
        ):
            with self.subTest(text), self.assertRaises((ValueError, TypeError, errors.DetError, OSError)) as caught:
                train.report_media("a", 1, data, type=kind)
            self.assertIn(text, str(caught.exception))
        with self.assertRaisesRegex(ValueError, "expected 0 or more"):
            train.report_media("a", -1, "x")


class Checkpoints(Core):
    def save(self, context, text="hello", steps=3):
        with context.checkpoint.store_path({"steps_completed": steps, "note": "n"}) as (path, uuid):
            (path / "deep").mkdir()
            (path / "deep" / "file").write_text(text)
        return uuid

    def test_what_is_stored_comes_back(self):
        context = self.open()
        uuid = self.save(context)
        with context.checkpoint.restore_path(uuid) as path:
            self.assertEqual((path / "deep" / "file").read_text(), "hello")
            self.assertEqual(
                json.loads((path / "metadata.json").read_text()), {"steps_completed": 3, "note": "n"}
            )
        self.assertEqual(context.checkpoint.get_metadata(uuid)["note"], "n")
        context.checkpoint.download(uuid, self.path("got"))
        with open(self.path("got", "deep", "file")) as file:
            self.assertEqual(file.read(), "hello")

    def test_an_exception_leaves_nothing(self):
        context = self.open()
        with self.assertRaises(ZeroDivisionError):
            with context.checkpoint.store_path({"steps_completed": 1}) as (path, uuid):
                (path / "file").write_text("x")
                1 / 0
        self.assertFalse(path.exists())
        with self.assertRaises(errors.NotFoundError):
            context.checkpoint.get_metadata(uuid)

    def test_steps_completed_is_needed(self):
        checkpoint = self.open().checkpoint
        for metadata in (None, {}, {"steps_completed": "1"}, {"steps_completed": True}):
            with self.assertRaisesRegex(ValueError, "needs 'steps_completed'"):
                checkpoint.upload(self.folder, metadata)
        self.assertRaises(TypeError, checkpoint.upload, self.folder, ["steps_completed"])
        self.assertRaises(ValueError, checkpoint.upload, self.folder, {"steps_completed": -1})
        with self.assertRaises(TypeError):  # a value that JSON cannot hold
            checkpoint.upload(self.folder, {"steps_completed": 1, "x": object()})

    def test_upload_and_its_selector(self):
        checkpoint = self.open().checkpoint
        for name in ("a.txt", "b.bin", "deep/c.txt"):
            self.write("model/" + name, name)
        uuid = checkpoint.upload(self.path("model"), {"steps_completed": 1}, shard=True)
        with checkpoint.restore_path(uuid) as path:
            self.assertTrue((path / "b.bin").exists())
        uuid = checkpoint.upload(
            self.path("model"), {"steps_completed": 2}, selector=lambda path: path.endswith(".txt")
        )
        with checkpoint.restore_path(uuid) as path:
            self.assertEqual((path / "deep" / "c.txt").read_text(), "deep/c.txt")
            self.assertFalse((path / "b.bin").exists())
        checkpoint.download(uuid, self.path("some"), selector=lambda path: path == "a.txt")
        self.assertEqual(os.listdir(self.path("some")), ["a.txt"])
        self.assertRaises(ValueError, checkpoint.upload, None, {"steps_completed": 1})
        self.assertRaises(
            (OSError, RuntimeError), checkpoint.upload, self.path("none"), {"steps_completed": 1}
        )

    def test_damage_is_noticed(self):
        context = self.open()
        uuid = self.save(context)
        with context.checkpoint.restore_path(uuid) as path:
            (path / "deep" / "file").write_text("hullo")
        with self.assertRaisesRegex(errors.CorruptError, "deep/file"):
            with context.checkpoint.restore_path(uuid):
                pass
        self.assertRaises(errors.CorruptError, context.checkpoint.download, uuid, self.path("x"))

    def test_what_another_program_wrote_has_no_manifest_and_is_taken(self):
        context = self.open()
        uuid = self.save(context)
        with context.checkpoint.restore_path(uuid) as path:
            os.unlink(path / "manifest.det.json")
            (path / "deep" / "file").write_text("hullo")
        with context.checkpoint.restore_path(uuid) as path:
            self.assertEqual((path / "deep" / "file").read_text(), "hullo")
        context.checkpoint.download(uuid, self.path("x"))
        self.assertTrue(os.path.exists(self.path("x", "deep", "file")))
        (path / "manifest.det.json").write_text("{}")
        self.assertRaises(errors.CorruptError, context.checkpoint.download, uuid, self.path("y"))

    def test_what_a_selector_raises_comes_through(self):
        checkpoint = self.open().checkpoint
        self.write("model/a", "x")
        with self.assertRaises(ZeroDivisionError):
            checkpoint.upload(
                self.path("model"), {"steps_completed": 1}, selector=lambda path: 1 / 0
            )
        self.assertRaises(
            TypeError, checkpoint.upload, self.path("model"), {"steps_completed": 1}, selector=3
        )
        self.assertEqual(os.listdir(self.path("run", "checkpoints")), [])

    def test_a_checkpoint_can_be_deleted(self):
        context = self.open()
        uuid = self.save(context)
        context.checkpoint.delete(uuid)
        self.assertRaises(errors.NotFoundError, context.checkpoint.delete, uuid)
        self.assertRaises(ValueError, context.checkpoint.delete, "../" + uuid)
        self.assertRaises(TypeError, context.checkpoint.delete, None)


class Rest(Core):
    def test_without_a_platform_nobody_asks_to_stop(self):
        preempt = self.open().preempt
        self.assertFalse(preempt.should_preempt())
        self.assertFalse(preempt.should_preempt(auto_ack=False))
        self.assertRaises(errors.StateError, preempt.acknowledge_preemption_signal)

    def test_the_searcher_yields_one_operation(self):
        searcher = self.open().searcher
        ops = list(searcher.operations())
        self.assertEqual([op.length for op in ops], [1])
        self.assertIs(searcher.get_configured_units(), core.Unit.EPOCHS)
        ops[0].report_progress(7)
        ops[0].report_completed(0.5)
        self.assertRaises(RuntimeError, ops[0].report_completed, 0.5)

    def test_the_searchers_length_has_a_unit_or_none(self):
        searcher = self.open(searcher={"name": "single", "max_length": {"batches": 100}}).searcher
        self.assertEqual(next(searcher.operations()).length, 100)
        self.assertIs(searcher.get_configured_units(), core.Unit.BATCHES)

    def test_a_length_without_a_unit(self):
        searcher = self.open(searcher={"name": "single", "max_length": 50}).searcher
        self.assertEqual(next(searcher.operations()).length, 50)
        self.assertIsNone(searcher.get_configured_units())

    def test_on_a_cluster_a_missing_length_is_an_error(self):
        from determined.core._searcher import SearcherContext

        searcher = SearcherContext(mock.Mock(**{"searcher_length.return_value": None}), None)
        self.assertRaises(ValueError, searcher.operations)
        self.assertRaises(ValueError, searcher.get_configured_units)

    def test_alerts_have_levels(self):
        context = self.open()
        context.alert(title="look", description="at this", level="warn")
        self.assertIn(b'"level":"warn"', self.reported())
        self.assertRaises(ValueError, context.alert, title="x", level="loud")

    def test_checkpoints_may_lie_elsewhere(self):
        for storage in (
            self.path("a"),
            "file://" + self.path("a"),
            pathlib.Path(self.path("a")),
            {"type": "shared_fs", "host_path": self.folder, "storage_path": "a"},
        ):
            with core.init(checkpoint_storage=storage) as context:
                with context.checkpoint.store_path({"steps_completed": 1}) as (_, uuid):
                    pass
            self.assertTrue(os.path.exists(self.path("a", uuid, "metadata.json")), storage)
        with core.init(checkpoint_storage="s3://bucket") as context:
            with self.assertRaisesRegex(NotImplementedError, "type 's3' is not implemented"):
                context.checkpoint.upload(self.folder, {"steps_completed": 1})
        self.assertRaises(TypeError, core.init, checkpoint_storage=7)

    def test_a_trial_saves_where_its_experiment_does(self):
        from determined.core._context import _check_storage

        config = json.dumps({"checkpoint_storage": {"type": "shared_fs", "host_path": "/x"}})
        values = {"is_on_cluster": True, "config": config}
        _check_storage({"type": "shared_fs", "host_path": "/x"}, values)
        with self.assertRaisesRegex(NotImplementedError, "another place than the experiment"):
            _check_storage({"type": "directory", "container_path": "/x"}, values)

    def test_modes_must_be_modes(self):
        self.assertRaises(TypeError, core.init, preempt_mode="WORKERS_ASK_CHIEF")
        self.assertRaises(TypeError, core.init, tensorboard_mode=None)

    def run_script(self, text):
        return subprocess.run(
            [sys.executable, "-c", text], capture_output=True, text=True, timeout=60
        )

    def test_invalid_hp_is_reported_and_ends_with_0(self):
        done = self.run_script(
            "import determined as det\n"
            "with det.core.init() as context:\n"
            "    raise det.InvalidHP('too large')\n"
        )
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertIn("these hyperparameters cannot be trained: too large", done.stderr)
        self.assertIn(b"EXITED_REASON_INVALID_HP", self.reported())

    def test_other_exceptions_stay_what_they_are(self):
        done = self.run_script(
            "import determined as det\nwith det.core.init() as context:\n    1 / 0\n"
        )
        self.assertEqual(done.returncode, 1)
        self.assertIn("ZeroDivisionError", done.stderr)

    def test_a_second_run_begins_from_the_last_checkpoint(self):
        with core.init() as context:
            with context.checkpoint.store_path({"steps_completed": 5}) as (_, uuid):
                pass
        with core.init() as context:
            values = context._det.info()
            self.assertEqual(context.latest_checkpoint, uuid)
        self.assertEqual((values["latest_checkpoint"], values["steps_completed"]), (uuid, 5))
        self.assertEqual(values["run_id"], 2)

    def test_a_script_run_by_hand_has_hyperparameters(self):
        with core.init() as context:
            self.assertEqual((context.hparams, context.latest_checkpoint), ({}, None))
        os.environ["DET_HPARAMS"] = '{"lr": 0.5, "net": {"layers": [1, 2]}}'
        with core.init() as context:
            self.assertEqual(context.hparams, {"lr": 0.5, "net": {"layers": [1, 2]}})

    def test_sigusr1_prints_a_stack(self):
        done = self.run_script(
            "import os, signal, determined as det\n"
            "def training():\n    os.kill(os.getpid(), signal.SIGUSR1)\n"
            "with det.core.init():\n    training()\n"
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("in training", done.stderr)


class Distributed(Offline):
    ALONE = {"rank": 0, "size": 1, "local_rank": 0, "local_size": 1, "cross_rank": 0, "cross_size": 1}

    def test_one_process_talks_to_itself(self):
        with core.DistributedContext(**self.ALONE) as dist:
            for gather in (dist.gather, dist.gather_local, dist.allgather, dist.allgather_local):
                self.assertEqual(gather("x"), ["x"])
            self.assertEqual((dist.broadcast("x"), dist.broadcast_local("x")), ("x", "x"))
            self.assertEqual(
                (dist.get_rank(), dist.get_local_rank(), dist.get_size(), dist.get_num_agents()),
                (0, 0, 1, 1),
            )
            with core.init(distributed=dist) as context:
                self.assertIs(context.distributed, dist)

    def test_ranks_that_make_no_sense_are_refused(self):
        for wrong in ({"rank": 1}, {"rank": -1}, {"local_rank": 1}, {"size": 0}, {"cross_size": 2}):
            self.assertRaises(ValueError, core.DistributedContext, **{**self.ALONE, **wrong})

    def test_launchers_variables_are_read(self):
        with self.assertRaisesRegex(ValueError, "RANK is not set"):
            core.DistributedContext.from_torch_distributed()
        zero = ("RANK", "LOCAL_RANK", "GROUP_RANK", "CROSS_RANK")
        one = ("WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_WORLD_SIZE", "LOCAL_SIZE", "CROSS_SIZE")
        os.environ.update({**dict.fromkeys(zero, "0"), **dict.fromkeys(one, "1")})
        self.assertEqual(core.DistributedContext.from_torch_distributed().size, 1)
        self.assertEqual(core.DistributedContext.from_deepspeed().size, 1)
        os.environ["WORLD_SIZE"] = "x"
        with self.assertRaisesRegex(ValueError, "WORLD_SIZE is 'x'"):
            core.DistributedContext.from_torch_distributed()

    def test_horovod_is_asked(self):
        hvd = mock.Mock(**{f"{name}.return_value": value for name, value in self.ALONE.items()})
        self.assertEqual(core.DistributedContext.from_horovod(hvd).size, 1)

    def test_tf_config_chooses_the_strategy(self):
        tf = mock.MagicMock()
        with mock.patch.dict(sys.modules, {"tensorflow": tf}):
            tf.config.list_physical_devices.return_value = []
            dist, strategy = core.DistributedContext.from_tf_config()
            self.assertEqual(dist.size, 1)
            self.assertIs(strategy, tf.distribute.get_strategy())
            tf.config.list_physical_devices.return_value = ["a", "b"]
            os.environ["TF_CONFIG"] = json.dumps(
                {"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}}
            )
            self.assertIs(
                core.DistributedContext.from_tf_config()[1], tf.distribute.MirroredStrategy()
            )
            os.environ["TF_CONFIG"] = "{"
            with self.assertRaisesRegex(ValueError, "TF_CONFIG is '{'"):
                core.DistributedContext.from_tf_config()


class Interrupted(Offline):
    def end_of(self, program):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        with open(self.path("run", "state.json")) as file:
            return done.returncode, json.load(file)

    def test_a_run_that_ctrl_c_ends_is_not_complete(self):
        stop = "import os, signal; os.kill(os.getpid(), signal.SIGINT)"
        begin = "from determined import core; import atexit\n"
        for program in (
            f"{begin}with core.init() as context:\n    {stop}",
            f"{begin}context = core.init()\natexit.register(context.close)\n{stop}",
        ):
            code, state = self.end_of(program)
            self.assertEqual(code, -signal.SIGINT)
            self.assertEqual((state["state"], state["exit_code"]), ("ERROR", 130))

    def test_a_run_whose_program_goes_on_is_complete(self):
        code, state = self.end_of(
            "from determined import core\ntry:\n    raise KeyboardInterrupt\nexcept KeyboardInterrupt:\n    pass\n"
            "with core.init(): pass"
        )
        self.assertEqual((code, state["state"]), (0, "COMPLETED"))


if __name__ == "__main__":
    unittest.main()
