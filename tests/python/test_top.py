# SPDX-License-Identifier: Apache-2.0
"""The package itself: its imports, its attributes, the description of the cluster."""
import json
import os
import subprocess
import sys
import unittest

from offline_case import Offline

import determined as det


def python(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


class Import(unittest.TestCase):
    def test_nothing_heavy_is_imported(self):
        loaded = python(
            "import sys; import determined as det; det.core; det.get_cluster_info; det.InvalidHP\n"
            "print(*sys.modules)"
        ).split()
        for name in ("numpy", "tensorflow", "torch", "keras", "requests", "asyncio", "ctypes"):
            self.assertNotIn(name, loaded)

    def test_the_package_alone_loads_nothing_of_its_own(self):
        loaded = python("import sys; import determined; print(*sys.modules)").split()
        mine = [name for name in loaded if name.startswith("determined")]
        self.assertEqual(mine, ["determined"])

    def test_every_name_is_there(self):
        for name in det.__all__:
            self.assertIsNotNone(getattr(det, name), name)
            self.assertIn(name, dir(det))

    def test_a_name_that_is_not_there_is_named(self):
        with self.assertRaisesRegex(AttributeError, "no attribute 'kerass'"):
            det.kerass

    def test_the_version_is_the_programs(self):
        said = subprocess.run([os.environ["DET"], "version"], capture_output=True, text=True)
        self.assertEqual(said.stdout.strip(), "det " + det.__version__)


class OtherPackage(Offline):
    """A task's interpreter that has its own `determined`."""

    def setUp(self):
        super().setUp()
        self.write("site/determined/__init__.py", "from determined import exec\nNAME = 'other'\n")
        self.write("site/determined/exec/__init__.py", "")
        self.write("site/determined/exec/harness.py", "print('harness of the other')\n")
        ours = os.path.dirname(os.path.dirname(det.__file__))
        os.environ["PYTHONPATH"] = ours + "/../pylib" + os.pathsep + self.path("site")

    def test_it_is_kept_in_a_task(self):
        os.environ["DET_ALLOCATION_ID"] = "1.x.1"
        self.assertEqual(python("import determined; print(determined.NAME)"), "other\n")
        self.assertEqual(python("from determined.exec import harness"), "harness of the other\n")

    def test_elsewhere_the_path_decides(self):
        self.assertEqual(python("import determined; print(determined.core.__name__)"), "determined.core\n")

    def test_without_another_it_is_ours(self):
        os.environ["DET_ALLOCATION_ID"] = "1.x.1"
        os.environ["PYTHONPATH"] = os.environ["PYTHONPATH"].split(os.pathsep)[0]
        self.assertEqual(python("import determined; print(determined.core.__name__)"), "determined.core\n")


class Units(unittest.TestCase):
    def test_they_hold_a_number_and_compare(self):
        self.assertEqual(det.Epochs(3).value, 3)
        self.assertEqual(det.Epochs(3), det.Epochs(3))
        self.assertNotEqual(det.Epochs(3), det.Batches(3))
        self.assertEqual(repr(det.Records(5)), "Records(5)")
        self.assertEqual(len({det.Batches(1), det.Batches(1), det.Records(1)}), 2)

    def test_they_refuse_what_is_no_length(self):
        for value in ("3", 1.5, None, True):
            self.assertRaises(TypeError, det.Epochs, value)
        for value in (0, -1):
            self.assertRaises(ValueError, det.Batches, value)


class ImportFromPath(Offline):
    def test_modules_come_from_there_and_are_forgotten(self):
        self.write("old/model_of_test.py", "NAME = 'old'\n")
        self.write("new/model_of_test.py", "NAME = 'new'\n")
        with det.import_from_path(self.path("new")):
            import model_of_test as new
        with det.import_from_path(self.path("old")):
            import model_of_test as old
        self.assertEqual((new.NAME, old.NAME), ("new", "old"))
        self.assertNotIn("model_of_test", sys.modules)
        self.assertNotIn(self.path("old"), sys.path)

    def test_what_was_imported_before_is_back(self):
        self.write("json.py", "NAME = 'mine'\n")
        with det.import_from_path(self.folder):
            import json as mine
        self.assertEqual(mine.NAME, "mine")
        self.assertIs(sys.modules["json"], json)

    def test_a_path_that_is_no_folder_is_refused(self):
        with self.assertRaisesRegex(OSError, "not a directory"):
            with det.import_from_path(self.path("nowhere")):
                pass


CLUSTER = {
    "master_url": "http://m:8080",
    "cluster_id": "c",
    "agent_id": "a",
    "slot_ids": [0, 2],
    "task_id": "3.u",
    "allocation_id": "3.u.1",
    "session_token": "t",
    "task_type": "TRIAL",
    "master_cert_name": None,
    "master_cert_file": None,
    "latest_checkpoint": "uuid",
}
TRIAL = {
    "trial_id": 7,
    "experiment_id": 3,
    "trial_seed": 9,
    "hparams": {"lr": 0.1, "opt": {"name": "sgd"}},
    "config": {"data": {"url": "x"}},
    "steps_completed": 4,
    "trial_run_id": 2,
    "debug": False,
    "inter_node_network_interface": None,
}
RENDEZVOUS = {"container_addrs": ["1.2.3.4"], "container_rank": 0, "container_slot_counts": [2]}


class ClusterInfo(Offline):
    def lay_down(self, **cluster):
        os.environ["DET_RUN_DIR"] = self.path("task")
        for name, values in (
            ("cluster", {**CLUSTER, **cluster}),
            ("trial", TRIAL),
            ("rendezvous", RENDEZVOUS),
            ("resources", {"gpu_uuids": ["GPU-1"]}),
        ):
            self.write(f"task/info/{name}.json", json.dumps(values))
        self.forget_info()

    def test_outside_of_a_task_there_is_none(self):
        os.environ["DET_RUN_DIR"] = self.path("nowhere")
        self.assertIsNone(det.get_cluster_info())

    def test_a_trial_knows_all(self):
        self.lay_down()
        info = det.get_cluster_info()
        self.assertEqual(info.master_url, "http://m:8080")
        self.assertEqual(info.slot_ids, [0, 2])
        self.assertEqual(info.task_type, "TRIAL")
        self.assertEqual(info.latest_checkpoint, "uuid")
        self.assertEqual(info.user_data, {"url": "x"})
        self.assertEqual(info.container_addrs, ["1.2.3.4"])
        self.assertEqual(info.container_slot_counts, [2])
        self.assertEqual(info.container_rank, 0)
        self.assertEqual(info.gpu_uuids, ["GPU-1"])
        self.assertEqual(info.trial.trial_id, 7)
        self.assertEqual(info.trial.experiment_id, 3)
        self.assertEqual(info.trial.trial_seed, 9)
        self.assertEqual(info.trial.hparams["opt"], {"name": "sgd"})
        self.assertIs(det.get_cluster_info(), info)

    def test_another_task_has_no_trial(self):
        self.lay_down(task_type="COMMAND")
        info = det.get_cluster_info()
        self.assertIsNone(info.latest_checkpoint)
        self.assertEqual(info.user_data, {})
        self.assertEqual(info.container_addrs, ["127.0.0.1"])
        self.assertEqual(info.container_rank, 0)
        with self.assertRaisesRegex(RuntimeError, "this task is a COMMAND"):
            info.trial

    def test_a_job_has_its_data_and_no_trial(self):
        os.environ["DET_TASK_CONFIG"] = '{"data": {"trial_id": 777}, "name": "infer"}'
        self.addCleanup(os.environ.pop, "DET_TASK_CONFIG", None)
        self.lay_down(task_type="GENERIC")
        info = det.get_cluster_info()
        self.assertEqual(info.user_data, {"trial_id": 777})
        self.assertIsNone(info.latest_checkpoint)
        self.assertEqual(info.container_addrs, ["1.2.3.4"])
        self.assertEqual(info.container_slot_counts, [2])
        with self.assertRaisesRegex(RuntimeError, "this task is a job, not a trial"):
            info.trial
        with self.assertRaisesRegex(ValueError, "this job has 2 slots"):
            det.core.init()

    def test_a_task_without_its_files_says_so(self):
        os.environ["DET_RUN_DIR"] = self.path("nowhere")
        os.environ["DET_ALLOCATION_ID"] = "3.u.1"
        with self.assertRaisesRegex(RuntimeError, "cluster.json' does not exist"):
            det.get_cluster_info()

    def test_several_slots_need_a_distributed_context(self):
        self.lay_down()
        with self.assertRaisesRegex(ValueError, "this trial has 2 slots"):
            det.core.init()


if __name__ == "__main__":
    unittest.main()
