# SPDX-License-Identifier: Apache-2.0
"""The binding: wrong types, closed contexts, threads, forks.  Nothing may crash."""
import os
import threading
import time
import unittest

from offline_case import Offline

from determined import _det, errors


class Odd:
    """Changes the dict that contains it while it is converted."""

    def __init__(self, home):
        self.home = home

    def __float__(self):
        self.home.clear()
        return 1.0

    __index__ = None


class Binding(Offline):
    def setUp(self):
        super().setUp()
        self.det = _det.open()
        self.addCleanup(self.det.close)

    def methods(self):
        names = [name for name in dir(self.det) if not name.startswith("_") and name not in ("close", "info", "flush", "preempted")]
        return {name: getattr(self.det, name) for name in names}

    def test_wrong_types_are_type_errors(self):
        for name, method in self.methods().items():
            for count in range(1, 4):
                with self.subTest(name, arguments=count):
                    self.assertRaises(TypeError, method, *[object() for _ in range(count)])

    def test_a_context_survives_odd_arguments(self):
        odd = [None, 1, 1.5, "x", b"x", [], {}, object(), "a\0b", 1 << 80, -1, float("nan")]
        calls = 0
        for method in self.methods().values():
            for count in range(4):
                for first in odd:
                    args = [first, odd[(count + 3) % len(odd)], first, first][:count]
                    try:
                        method(*args)
                    except (TypeError, ValueError, OverflowError, RuntimeError, OSError):
                        pass
                    calls += 1

        self.assertEqual(calls, len(self.methods()) * 4 * len(odd))
        self.assertTrue(self.det.report_numbers("training", 1 << 40, {"still_here": 1.0}))
        self.assertIn(b"still_here", self.reported())

    def test_types_cannot_be_made_by_hand(self):
        for kind in (_det.Context, _det.Checkpoint, _det.Client):
            self.assertRaises(TypeError, kind)

    def test_numbers_are_taken_and_others_left(self):
        report = self.det.report_numbers
        self.assertTrue(report("training", 1, {"a": 1.0, "b": 2, "c": float("nan")}))
        for value in (True, None, "x", 1 << 54, 1 << 2000, [1.0], object()):
            self.assertFalse(report("training", 2, {"a": 1.0, "b": value}), value)
        metrics = {"a": 1.0}
        metrics["b"] = Odd(metrics)
        self.assertFalse(report("training", 2, metrics))

    def test_arrays_of_one_number_are_numbers(self):
        class Scalar:
            def __init__(self, value):
                self.value = value

            def item(self):
                if isinstance(self.value, BaseException):
                    raise self.value
                return self.value

        class Vandal(Scalar):
            def item(self):
                metrics.clear()
                return 1.0

        report = self.det.report_numbers
        self.assertTrue(report("training", 1, {"a": Scalar(0.5), "b": 1, "c": Scalar(3)}))
        for value in (True, "x", None, ValueError("two numbers")):
            self.assertFalse(report("training", 2, {"a": 1.0, "b": Scalar(value)}))
        with self.assertRaises(KeyboardInterrupt):
            report("training", 2, {"a": Scalar(KeyboardInterrupt())})
        metrics = {"a" * 100: 1.0, "b" * 100: Vandal(1)}
        metrics.update({"c" * 100 + str(i): Vandal(1) for i in range(100)})
        self.assertTrue(report("training", 3, metrics))
        self.assertEqual(metrics, {})
        self.assertIn(b"c" * 100 + b"99", self.reported())

        class Closer(Scalar):
            def item(item):
                self.det.close()
                return 1.0

        self.assertTrue(report("training", 4, {"a": Closer(1)}))
        self.assertRaises(errors.StateError, report, "training", 5, {"a": 1.0})

    def test_many_metrics_need_memory_and_get_it(self):
        self.assertTrue(
            self.det.report_numbers("training", 1, {f"m{i}": float(i) for i in range(1000)})
        )

    def test_names_that_are_no_text_are_refused(self):
        for name in ("a\0b", "\udc80", ""):
            self.assertRaises(ValueError, self.det.report_numbers, "training", 1, {name: 1.0})
        self.assertRaises(ValueError, self.det.report_numbers, "a.b", 1, {"x": 1.0})

    def test_failures_are_sentences_with_a_status(self):
        with self.assertRaises(errors.InvalidError) as caught:
            self.det.progress(2)
        self.assertEqual(str(caught.exception), "the progress is 2; expected 0 to 1")
        self.assertEqual(caught.exception.status, "INVALID")
        self.assertRaises(errors.StateError, self.det.preempt_ack)
        self.assertRaises(errors.NotFoundError, self.det.checkpoint_restore)
        self.assertRaises(errors.InvalidError, self.det.early_exit, 7)
        self.assertRaises(errors.InvalidError, self.det.alert, 9, "title")
        self.assertRaises(errors.InvalidError, self.det.checkpoint_restore, "../../etc")

    def test_every_status_has_an_exception(self):
        for status in ("INVALID", "NOT_FOUND", "TIMEOUT", "UNREACHABLE", "UNSUPPORTED", "FORBIDDEN"):
            error = errors.of_status(status, "a sentence")
            self.assertIsInstance(error, RuntimeError)
            self.assertEqual((str(error), error.status), ("a sentence", status))
        self.assertIsInstance(errors.of_status("TIMEOUT", ""), TimeoutError)
        self.assertIsInstance(errors.of_status("UNSUPPORTED", ""), NotImplementedError)
        self.assertIsInstance(errors.of_status("NOMEM", ""), MemoryError)
        self.assertIs(type(errors.of_status("NEW", "")), errors.DetError)

    def test_a_closed_context_says_so(self):
        checkpoint = self.det.checkpoint_begin(1)
        self.det.close()
        self.det.close()
        for call in (self.det.info, self.det.preempted, self.det.flush, self.det.checkpoint_begin):
            with self.assertRaises((errors.StateError, TypeError)):
                call(*([1] if call == self.det.checkpoint_begin else []))
        self.assertRaises(errors.StateError, self.det.report_numbers, "training", 1, {"a": 1.0})
        checkpoint.commit()  # it was begun before the context was closed, and may still end
        self.assertRaises(errors.StateError, checkpoint.commit)
        with self.assertRaises(errors.StateError):
            checkpoint.path
        checkpoint.abort()

    def test_a_checkpoint_that_is_dropped_is_gone(self):
        path = self.det.checkpoint_begin(1).path
        self.assertFalse(os.path.exists(path))

    def test_metadata_of_any_length_comes_back_whole(self):
        text = '{"note":"' + "x" * 100000 + '"}'
        checkpoint = self.det.checkpoint_begin(1, text)
        uuid = checkpoint.uuid
        checkpoint.commit()
        self.assertIn("x" * 100000, self.det.checkpoint_metadata(uuid))

    def test_threads_report_while_one_closes(self):
        begun, deadline = threading.Barrier(5), time.monotonic() + 60
        outcomes = []  # one per thread: how many reports were taken, and the error that ended it

        def report():
            begun.wait()
            taken, ended_by = 0, None
            try:
                while time.monotonic() < deadline:
                    self.det.report_json("training", taken, '{"loss": 1}')
                    taken += 1
            except Exception as error:
                ended_by = error
            outcomes.append((taken, ended_by))

        threads = [threading.Thread(target=report) for _ in range(4)]
        for thread in threads:
            thread.start()
        begun.wait()
        time.sleep(0.02)
        self.det.close()
        for thread in threads:
            thread.join()

        self.assertEqual([type(error) for _, error in outcomes], 4 * [errors.StateError])
        self.assertEqual({str(error) for _, error in outcomes}, {"this context is closed"})
        self.assertGreater(sum(taken for taken, _ in outcomes), 0)
        self.assertRaises(errors.StateError, self.det.report_json, "training", 1, '{"loss": 1}')

    def test_a_forked_child_is_inert(self):
        checkpoint = self.det.checkpoint_begin(1)
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                self.det.report_numbers("training", 1, {"a": 1.0})
            except errors.StateError as error:
                code = 0 if "forked" in str(error) else 2
            try:
                self.det.info()
                code = 3
            except errors.StateError:
                pass
            del checkpoint
            self.det.close()
            os._exit(code)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        self.assertTrue(os.path.exists(checkpoint.path))
        checkpoint.commit()

    def test_opening_fails_with_a_sentence(self):
        with self.assertRaisesRegex(errors.StateError, "not inside a task"):
            _det.open(task_only=True)
        self.assertRaises(errors.InvalidError, _det.open, self.path("other"), "[1]")
        self.assertRaises(TypeError, _det.open, 7)
        os.environ["DET_ALLOCATION_ID"] = "1.x.1"
        self.assertRaises(errors.InvalidError, _det.open)

    def test_a_client_without_a_master_says_so(self):
        self.assertRaises(errors.NotFoundError, _det.client)
        client = _det.client("http://127.0.0.1:9", as_task=True)
        with self.assertRaises(errors.DetError):
            client.call("GET", "/api/v1/master")


if __name__ == "__main__":
    unittest.main()
