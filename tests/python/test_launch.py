# SPDX-License-Identifier: Apache-2.0
"""Launching from Python, as far as one process can test it: command lines, detecting a launcher, errors of user
code. With real processes: tests/e2e/3015-launch-tensorflow.sh, 3021-classes.sh."""
import contextlib
import functools
import io
import json
import os
import subprocess
import sys
import unittest
from unittest import mock

from offline_case import Offline

import determined as det
from determined import _launch, _replicas, launch
from determined.exec import harness
from determined.launch import torch_distributed


class Words(unittest.TestCase):
    def test_options_end_where_the_command_begins(self):
        for words, wanted in (
            ([], ([], [])),
            (["--port", "3", "a", "--port", "4"], (["--port", "3"], ["a", "--port", "4"])),
            (["--port=3", "--", "-x", "--"], (["--port=3"], ["-x", "--"])),
            (["-n", "2", "--", "a.py"], (["-n", "2"], ["a.py"])),
            (["--port"], (["--port"], [])),
            (["--"], ([], [])),
        ):
            with self.subTest(words):
                self.assertEqual(launch._split(words), wanted)

    def test_a_file_is_run_with_this_interpreter(self):
        with mock.patch.object(_launch, "run_det") as run:
            launch.become("tensorflow", ["train.py", "--lr", "1"])
            launch.become("mpi", ["-n", "2", "./train"])
            launch.become("mpi", ["--help"])
        self.assertEqual(
            [each.args[0] for each in run.call_args_list],
            [
                ["launch", "tensorflow", "--", sys.executable, "train.py", "--lr", "1"],
                ["launch", "mpi", "-n", "2", "--", "./train"],
                ["launch", "mpi", "--help"],
            ],
        )

    def test_torchrun_s_options_are_taken_as_far_as_they_mean_something(self):
        for words, wanted in (
            ([], ([], [])),
            (["--nproc_per_node", "2", "--", "a", "-n", "3"], (["--nproc-per-node", "2"], ["a", "-n", "3"])),
            (["--nproc-per-node=auto", "train.py"], ([], ["train.py"])),
            (["-n", "2", "--nnodes=2", "--node_rank", "1", "a"], (["-n", "2", "--nnodes", "2", "--node-rank", "1"], ["a"])),
            (["--rdzv_endpoint=h:5", "a"], (["--master-addr", "h", "--master-port", "5"], ["a"])),
            (["--rdzv-endpoint", "h", "a"], (["--master-addr", "h"], ["a"])),
            (["--max_restarts", "0", "--standalone", "-r", "3", "a"], ([], ["a"])),
            (["--trial", "m:T"], ([], ["--trial", "m:T"])),
            (["--", "--trial", "m:T"], ([], ["--trial", "m:T"])),
            (["--unknown", "a"], (["--unknown"], ["a"])),
            (["--help"], (["--help"], [])),
        ):
            with self.subTest(words), contextlib.redirect_stderr(io.StringIO()):
                self.assertEqual(torch_distributed.split(words), wanted)
        err = io.StringIO()
        with contextlib.redirect_stderr(err):
            torch_distributed.split(["--tee=3", "a"])
        self.assertEqual(err.getvalue(), "determined: torchrun's --tee has no effect here\n")

    def test_a_trial_is_run_by_the_harness(self):
        with mock.patch.object(_launch, "run_det") as run:
            torch_distributed.main(["--nproc_per_node=2", "--", "--trial", "m:T"])
        harness_words = [sys.executable, "-m", "determined.exec.harness", "m:T"]
        self.assertEqual(
            run.call_args.args[0], ["launch", "torch_distributed", "--nproc-per-node", "2", "--", *harness_words]
        )

    def test_without_the_program_one_sentence(self):
        with mock.patch.object(_launch, "_NEAR", ()), mock.patch.dict(os.environ, PATH="/nowhere"):
            with self.assertRaisesRegex(SystemExit, "determined: the program 'det' is neither"):
                launch.become("mpi", ["a"])

    def test_the_program_beside_the_package_is_taken(self):
        self.assertTrue(os.path.samefile(_launch.find_det(), os.environ["DET"]))


class Relaunch(Offline):
    CLUSTER = dict.fromkeys(
        ("master_url", "cluster_id", "agent_id", "task_id", "allocation_id", "session_token"), "x"
    )

    def be_task(self, slots, nodes=1):
        values = {**self.CLUSTER, "slot_ids": list(range(slots)), "task_type": "TRIAL"}
        self.write("task/info/cluster.json", json.dumps(values))
        nodes = {"container_addrs": ["h"] * nodes, "container_rank": 0, "container_slot_counts": [slots] * nodes}
        self.write("task/info/rendezvous.json", json.dumps(nodes))
        os.environ["DET_RUN_DIR"] = self.path("task")
        self.forget_info()

    def relaunched(self, *layer):
        """The command line, or None."""
        with mock.patch.object(_launch, "run_det") as run:
            _launch.relaunch_if_needed(*layer)
        return run.call_args.args[0] if run.called else None

    def test_several_slots_are_several_processes(self):
        self.assertIsNone(self.relaunched())
        self.be_task(1)
        self.assertIsNone(self.relaunched())
        self.be_task(2)
        words = self.relaunched()
        self.assertEqual(words[:4], ["launch", "mpi", "--", sys.executable])
        self.assertEqual(words[4:], sys.orig_argv[1:])
        self.assertEqual(self.relaunched("torch_distributed"), ["launch", "torch_distributed", *words[2:]])
        self.be_task(1, nodes=2)
        self.assertIsNotNone(self.relaunched())

    def test_who_was_launched_is_not_launched_again(self):
        self.be_task(2)
        for name in ("DET_LAUNCH", "RANK", "OMPI_COMM_WORLD_RANK", "HOROVOD_RANK", "TF_CONFIG"):
            with mock.patch.dict(os.environ, {name: "0"}):
                self.assertIsNone(self.relaunched(), name)

    def test_what_cannot_be_repeated_says_so(self):
        self.be_task(3)
        with mock.patch.object(sys, "argv", [""]):
            with self.assertRaisesRegex(RuntimeError, "has 3 slots.*standard input cannot be started again"):
                self.relaunched()

    def test_the_harness_launches_by_the_layer_of_the_class(self):
        self.be_task(2)
        path = self.write(
            "model/laid_out.py",
            "import os\nos.chdir('/')\nfrom determined._trial import LegacyTrial, TrialController\n"
            "class Trial(LegacyTrial):\n    trial_controller_class = TrialController\n"
            "    def __init__(self, context): pass\n"
            "class Torch(Trial):\n    _launch_layer = 'torch_distributed'\n",
        )
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(os.path.dirname(path))
        for name, layer in (("Trial", "mpi"), ("Torch", "torch_distributed")):
            with mock.patch.object(_launch, "run_det", side_effect=KeyboardInterrupt) as run:
                with mock.patch.object(sys, "argv", [harness.__file__]):  # as with python3 -m
                    self.assertRaises(KeyboardInterrupt, harness.main, [f"laid_out:{name}"])
            self.assertEqual(run.call_args.args[0][:3], ["launch", layer, "--"])
            self.assertTrue(os.path.samefile(os.getcwd(), os.path.dirname(path)))
        with mock.patch.object(_launch, "run_det") as run, contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(harness.main(["laid_out:Nobody"]), 2)
        run.assert_not_called()  # it is printed once, not by every process

    def test_it_goes_back_to_where_it_was_started(self):
        self.be_task(2)
        self.write("there/train.py", "")
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir("/")
        os.environ["PWD"] = self.path("there")
        with mock.patch.object(sys, "argv", ["train.py"]):
            self.relaunched()
        self.assertTrue(os.path.samefile(os.getcwd(), self.path("there")))

    def test_ranks_come_from_the_launcher(self):
        self.assertEqual(_launch.distributed().size, 1)
        one = {"RANK": "0", "LOCAL_RANK": "0", "CROSS_RANK": "0"}
        one.update(WORLD_SIZE="1", LOCAL_SIZE="1", CROSS_SIZE="1")
        with mock.patch.dict(os.environ, {**one, "DET_LAUNCH": "mpi"}):
            self.assertEqual(_launch.distributed().rank, 0)
        with mock.patch.dict(os.environ, {"DET_LAUNCH": "tensorflow", "RANK": "7"}):
            self.assertEqual(_launch.distributed().size, 1)
        with mock.patch.dict(os.environ, TF_CONFIG="{"):
            self.assertRaisesRegex(ValueError, "TF_CONFIG is '{'", _launch.distributed)

    def test_signals_that_python_ignores_are_heard_again(self):
        code = "from determined import _launch; _launch.run_det(['launch', 'tensorflow', '--', 'sh', '-c', 'kill -PIPE $$; echo alive'])"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (-13, ""))


class Replicas(unittest.TestCase):
    def test_numbers_only(self):
        for text in ("0", "x", "-1", "1.5", "2048"):
            with mock.patch.dict(os.environ, DET_CPU_REPLICAS=text):
                self.assertRaisesRegex(ValueError, f"DET_CPU_REPLICAS is '{text}'", _replicas.wanted)

    def test_gpus_are_left_alone(self):
        tf = mock.MagicMock()
        with mock.patch.dict(os.environ, DET_CPU_REPLICAS="2"):
            _replicas.divide(tf)
            tf.config.set_logical_device_configuration.assert_not_called()
            tf.config.list_physical_devices.side_effect = lambda kind: ["cpu"] * (kind == "CPU")
            tf.config.get_logical_device_configuration.return_value = None
            _replicas.divide(tf)
            self.assertEqual(len(tf.config.set_logical_device_configuration.call_args.args[1]), 2)


class Errors(unittest.TestCase):
    def told(self, function, is_by_user=True):
        """The printed traceback of our call, without the frames of this file."""
        err = io.StringIO()
        try:
            function()
        except Exception as error:
            frames = error.__traceback__
            while not is_by_user and frames.tb_frame.f_code.co_filename == __file__:
                frames = frames.tb_next
            with contextlib.redirect_stderr(err):
                harness.print_error(error.with_traceback(frames))
        return err.getvalue()

    def test_frames_of_ours_are_left_out(self):
        def by_user():
            det.Epochs("3")

        text = self.told(by_user)
        self.assertIn('det.Epochs("3")', text)
        self.assertNotIn("_units.py", text)

    def test_also_of_causes(self):
        def by_user():
            try:
                det.Epochs(0)
            except ValueError as error:
                raise KeyError("other") from error

        text = self.told(by_user)
        self.assertNotIn("_units.py", text)
        self.assertIn("direct cause", text)
        self.assertIn("KeyError: 'other'", text)

    def test_a_sentence_of_ours_needs_no_frames(self):
        text = self.told(lambda: det.Epochs(0), is_by_user=False)
        self.assertEqual(text, "ValueError: Epochs(0): expected 1 or more\n")

    def test_nor_the_frame_with_which_keras_shortens_a_traceback(self):
        names = {}
        path = os.path.join("lib", "keras", "src", "utils", "traceback_utils.py")
        exec(compile("def error_handler(function):\n    return function()\n", path, "exec"), names)
        text = self.told(lambda: names["error_handler"](functools.partial(det.Epochs, 0)), is_by_user=False)
        self.assertEqual(text, "ValueError: Epochs(0): expected 1 or more\n")

    def test_a_mistake_of_ours_keeps_them(self):
        text = self.told(lambda: launch._split(None), is_by_user=False)
        self.assertIn("in _split", text)

    def test_debug_shows_them_all(self):
        with mock.patch.dict(os.environ, DET_EXPERIMENT_CONFIG='{"debug": true}'):
            self.assertIn("_units.py", self.told(lambda: det.Epochs("3")))


if __name__ == "__main__":
    unittest.main()
