# SPDX-License-Identifier: Apache-2.0
"""core_context.profiler in offline runs."""
import json
import os
import threading
import unittest

from offline_case import Offline

from determined import core


class Profiler(Offline):
    def open(self, distributed=None, **config):
        os.environ["DET_EXPERIMENT_CONFIG"] = json.dumps(config)
        context = core.init(distributed=distributed)
        self.addCleanup(context.close)
        return context

    def test_off_reports_what_was_measured(self):
        profiler = self.open().profiler
        profiler.off()
        self.assertNotIn(b"memory_free", self.reported())
        profiler.on(sampling_interval=0.1, samples_per_report=1000)
        profiler.off()
        found = self.reported()
        for word in (b'"memory_free":', b'"disk_util":', b"local"):
            self.assertIn(word, found)

    def test_samples_are_reported_while_it_is_on(self):
        profiler = self.open().profiler
        profiler.on(sampling_interval=0.1, samples_per_report=1)
        waited = threading.Event()
        for _ in range(300):
            if b'"cpu_util_simple":' in self.reported():
                break
            waited.wait(0.1)
        profiler.on()
        profiler.off()
        self.assertIn(b'"cpu_util_simple":', self.reported())

    def test_arguments_that_make_no_sense_are_refused(self):
        profiler = self.open().profiler
        for wrong in (0.01, 0, -1, float("nan"), "often"):
            self.assertRaises(ValueError, profiler.on, sampling_interval=wrong)
        for wrong in (0, -1, 1.5):
            self.assertRaises(ValueError, profiler.on, samples_per_report=wrong)
        profiler.on(0.1, 1)

    def test_timings_are_counted(self):
        context = self.open()
        context.profiler.on()
        with context.profiler.timing("step"):
            with context.profiler.timing("data"):
                pass
        with self.assertRaises(KeyError):
            with context.profiler.timing("validate"):
                raise KeyError
        context.train.report_training_metrics(1, {"loss": 1})
        with context.checkpoint.store_path({"steps_completed": 1}) as (path, _):
            (path / "x").write_text("x")
        context.profiler.off()
        found = self.reported()
        for kind in (b"data", b"step", b"validate", b"report", b"checkpoint"):
            self.assertIn(b'"%s":{"seconds":' % kind, found)
        self.assertRaises(ValueError, context.profiler.timing("sleep").__enter__)

    def test_the_configuration_turns_it_on(self):
        self.open(profiling={"enabled": True}).close()
        self.assertIn(b'"memory_free":', self.reported())

    def test_a_configuration_without_it_leaves_it_off(self):
        self.open(profiling={"enabled": False}).close()
        self.assertNotIn(b'"memory_free":', self.reported())

    def test_only_the_first_process_of_a_machine_measures(self):
        second = core.DistributedContext._alone()
        second.local_rank = 1
        context = self.open(distributed=second, profiling={"enabled": True})
        before = self.reported().count(b"memory_free")
        context.profiler.on()
        with context.profiler.timing("step"):
            pass
        context.profiler.off()
        context.close()
        self.assertEqual(self.reported().count(b"memory_free"), before)

    def test_after_the_end_it_says_so(self):
        context = self.open()
        context.close()
        self.assertRaises(Exception, context.profiler.on)


if __name__ == "__main__":
    unittest.main()
