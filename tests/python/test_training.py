# SPDX-License-Identifier: Apache-2.0
"""The bindings of the training policy, the order of data, records and overlapped checkpoints."""
import array
import os
import unittest

from offline_case import Offline

from determined import _det, errors


def numbers(data):
    return array.array("q", bytes(data)).tolist()


class Policy(Offline):
    def setUp(self):
        super().setUp()
        self.det = _det.open()
        self.addCleanup(self.det.close)

    def trainer(self, **options):
        return self.det.trainer(options)

    def test_a_training_of_epochs(self):
        trainer = self.trainer(
            max_length=(_det.EPOCHS, 2), validation_period=(_det.EPOCHS, 1), batches_per_epoch=3
        )
        self.assertEqual(trainer.begin(), 0)
        said = [trainer.batch_end() for _ in range(6)]
        self.assertEqual([bool(bits & _det.VALIDATE) for bits in said], [False, False, True] * 2)
        self.assertEqual([bool(bits & _det.EPOCH_END) for bits in said], [False, False, True] * 2)
        self.assertTrue(said[5] & _det.STOP and said[5] & _det.CHECKPOINT)
        self.assertEqual(trainer.batches(), 6)
        self.assertEqual(trainer.epochs(), 2)
        self.assertEqual(trainer.epoch_position(), 0)
        self.assertEqual(trainer.progress(), 1.0)

    def test_epochs_whose_length_is_not_known(self):
        trainer = self.trainer(max_length=(_det.EPOCHS, 1))
        self.assertFalse(trainer.batch_end() & _det.STOP)
        self.assertTrue(trainer.epoch_end() & _det.STOP)

    def test_state_goes_into_another_one(self):
        first = self.trainer(max_length=(_det.BATCHES, 10), reporting_period=(_det.BATCHES, 4))
        for value in (1.0, 2.0, 3.0):
            first.metric("loss", value)
            first.batch_end()
        second = self.trainer(max_length=(_det.BATCHES, 10), reporting_period=(_det.BATCHES, 4))
        second.load(first.save())
        self.assertEqual(second.save(), first.save())
        self.assertEqual(second.batches(), 3)
        second.metric("loss", 6.0)
        self.assertTrue(second.batch_end() & _det.REPORT)
        self.assertEqual(second.window(), {"loss": 3.0})
        self.assertEqual(second.window(), {})
        with self.assertRaises(errors.CorruptError):
            second.load("nonsense")

    def test_stopping_saves_what_would_be_lost(self):
        trainer = self.trainer(max_length=(_det.BATCHES, 10))
        trainer.stop()
        self.assertEqual(trainer.batch_end(), _det.STOP | _det.CHECKPOINT)
        trainer.saved()

    def test_the_best_validation_is_saved(self):
        trainer = self.trainer(
            max_length=(_det.BATCHES, 9), validation_period=(_det.BATCHES, 1), larger_is_better=True
        )
        saved = []
        for value in (0.5, 0.4, 0.6):
            trainer.batch_end()
            saved.append(bool(trainer.validated(value) & _det.CHECKPOINT))
        self.assertEqual(saved, [True, False, True])

    def test_bad_options(self):
        for options, kind in (
            ({}, ValueError),
            ({"max_length": 5}, TypeError),
            ({"max_length": (1, "x")}, TypeError),
            ({"max_length": (1, -5)}, ValueError),
            ({"max_length": (2, 5)}, ValueError),
            ({"max_length": (1, 5), "keep": "x"}, TypeError),
            ({"max_length": (1, 5), "keep": 1 << 32}, OverflowError),
            ({"length": (1, 5)}, TypeError),
            ({1: (1, 5)}, TypeError),
        ):
            with self.assertRaises(kind, msg=options):
                self.det.trainer(options)
        with self.assertRaises(TypeError):
            self.det.trainer([])
        trainer = self.trainer(max_length=(_det.BATCHES, 10))
        self.assertRaises(TypeError, trainer.validated, "x")
        self.assertRaises(ValueError, trainer.metric, "", 1.0)
        self.assertRaises(TypeError, type(trainer))


class Configured(Offline):
    def test_the_configuration_has_the_last_word(self):
        det = _det.open(
            config='{"searcher": {"max_length": {"batches": 4}}, "min_validation_period": {"batches": 2}}'
        )
        self.addCleanup(det.close)
        options = {"max_length": (_det.BATCHES, 100), "checkpoint_period": (_det.BATCHES, 1)}
        trainer = det.trainer(dict(options, configured=True))
        said = [trainer.batch_end() for _ in range(4)]
        self.assertEqual([bool(bits & _det.VALIDATE) for bits in said], [False, True, False, True])
        self.assertTrue(all(bits & _det.CHECKPOINT for bits in said))
        self.assertTrue(said[3] & _det.STOP)
        self.assertFalse(det.trainer(options).batch_end() & _det.VALIDATE)


class Order(unittest.TestCase):
    def test_batches_follow_one_another(self):
        indices, counts = _det.order(10, 4, False, 0, 0, 4)
        self.assertEqual(numbers(indices), [*range(10), *range(4)])
        self.assertEqual(numbers(counts), [4, 4, 2, 4])

    def test_every_epoch_is_a_shuffle_of_its_own(self):
        indices, counts = _det.order(10, 4, True, 7, 0, 6)
        found = numbers(indices)
        self.assertEqual(sorted(found[:10]), list(range(10)))
        self.assertEqual(sorted(found[10:]), list(range(10)))
        self.assertNotEqual(found[:10], found[10:])
        self.assertNotEqual(found[:10], numbers(_det.order(10, 4, True, 8, 0, 3)[0]))
        middle, _ = _det.order(10, 4, True, 7, 1, 2)
        self.assertEqual(numbers(middle), found[4:10])

    def test_shards_make_up_the_batch(self):
        whole, _ = _det.order(10, 4, True, 7, 0, 3)
        parts = [_det.order(10, 4, True, 7, 0, 3, shard, 3) for shard in range(3)]
        merged, at = [], [0, 0, 0]
        for batch in range(3):
            for shard, (indices, counts) in enumerate(parts):
                count = numbers(counts)[batch]
                merged += numbers(indices)[at[shard] : at[shard] + count]
                at[shard] += count
        self.assertEqual(merged, numbers(whole))

    def test_short_batches_can_be_dropped(self):
        _, counts = _det.order(10, 4, count=4, drop_last=True)
        self.assertEqual(numbers(counts), [4, 4, 4, 4])

    def test_bad_input(self):
        for args in ((0, 4, 0, 0, 0, 1), (10, 0, 0, 0, 0, 1), (-1, 4, 0, 0, 0, 1)):
            with self.assertRaises(ValueError):
                _det.order(*args)
        with self.assertRaises(ValueError):
            _det.order(10, 4, first=-1, count=1)
        with self.assertRaises(ValueError):
            _det.order(10, 4, count=-1)
        with self.assertRaises(ValueError):
            _det.order(10, 4, count=1 << 62)
        with self.assertRaises(ValueError):
            _det.order(10, 4, count=1, shard=2, shard_count=2)
        self.assertRaises(TypeError, _det.order)
        self.assertEqual(_det.order(10, 4, count=0), (b"", b""))


class RecordFiles(Offline):
    def test_what_was_written_is_read(self):
        path = self.path("a.rec")
        writer = _det.RecordWriter(path)
        contents = [b"", b"x", b"y" * 1000, bytes(range(256))]
        for record in contents:
            writer.add(record)
        self.assertFalse(os.path.exists(path))
        writer.finish()
        records = _det.Records(path)
        self.assertEqual(len(records), 4)
        self.assertEqual(list(records), contents)
        self.assertEqual(records[-1], contents[-1])
        self.assertRaises(IndexError, lambda: records[4])
        for call in (lambda: writer.add(b"z"), writer.finish):
            self.assertRaises(errors.StateError, call)
        writer.abort()

    def test_many_at_once(self):
        writer = _det.RecordWriter(self.path("many.rec"))
        writer.add_rows(array.array("q", range(6)), 16)
        writer.add_rows(b"", 16)
        for size in (0, -1, 5):
            self.assertRaises(ValueError, writer.add_rows, b"abc", size)
        writer.finish()
        self.assertEqual([numbers(each) for each in _det.Records(self.path("many.rec"))], [[0, 1], [2, 3], [4, 5]])

    def test_an_aborted_file_was_never_there(self):
        for end in (lambda writer: writer.abort(), lambda writer: None):
            writer = _det.RecordWriter(self.path("b.rec"))
            writer.add(memoryview(b"abc"))
            end(writer)
            del writer
            self.assertEqual([name for name in os.listdir(self.folder) if "b.rec" in name], [])

    def test_damage_is_told(self):
        path = self.path("c.rec")
        writer = _det.RecordWriter(path)
        writer.add(b"hello world")
        writer.finish()
        with open(path, "r+b") as file:
            file.seek(64)
            file.write(b"J")
        with self.assertRaises(errors.CorruptError):
            _det.Records(path)[0]
        os.truncate(path, 70)
        self.assertRaises(errors.CorruptError, _det.Records, path)
        self.assertRaises(errors.NotFoundError, _det.Records, self.path("none"))
        self.assertRaises(TypeError, _det.Records)
        self.assertRaises(TypeError, _det.RecordWriter, 5)


class Overlapped(Offline):
    def setUp(self):
        super().setUp()
        self.det = _det.open(checkpoint_storage=None)
        self.addCleanup(self.det.close)

    def begin(self, steps):
        return self.det.checkpoint_begin(steps, overlapped=True)

    def test_it_is_told_how_it_went(self):
        self.assertIsNone(self.det.checkpoint_wait())
        self.det.checkpoint_reserve(1 << 16)
        checkpoint = self.begin(5)
        uuid = checkpoint.uuid
        checkpoint.put("a/weights.bin", array.array("d", [1.0, 2.0]))
        checkpoint.put("b.txt", b"text")
        checkpoint.commit()
        self.assertEqual(self.det.checkpoint_wait(), (uuid, 20, 0))
        self.assertIsNone(self.det.checkpoint_wait(0))
        path = self.det.checkpoint_restore(uuid)
        with open(os.path.join(path, "b.txt"), "rb") as file:
            self.assertEqual(file.read(), b"text")
        with open(os.path.join(path, "a", "weights.bin"), "rb") as file:
            self.assertEqual(array.array("d", file.read()).tolist(), [1.0, 2.0])

    def test_what_was_put_may_change_at_once(self):
        data = bytearray(b"x" * 100)
        checkpoint = self.begin(1)
        checkpoint.put("data", data)
        checkpoint.commit()
        data[:] = b"y" * 100
        uuid, _, _ = self.det.checkpoint_wait()
        with open(os.path.join(self.det.checkpoint_restore(uuid), "data"), "rb") as file:
            self.assertEqual(file.read(), b"x" * 100)

    def test_the_next_one_waits_for_it(self):
        for steps in (1, 2):
            checkpoint = self.begin(steps)
            checkpoint.put("data", b"%d" % steps)
            checkpoint.commit()
        self.assertEqual(len(self.det.checkpoint_wait()), 3)

    def test_a_failure_is_told_once(self):
        checkpoint = self.begin(1)
        with open(os.path.join(checkpoint.path, "manifest.det.json"), "w"):
            pass
        checkpoint.put("data", b"1")
        checkpoint.commit()
        self.assertRaises(errors.DetError, self.det.checkpoint_wait)
        self.assertIsNone(self.det.checkpoint_wait())

    def test_one_that_is_dropped_is_gone(self):
        checkpoint = self.begin(1)
        checkpoint.put("data", b"1")
        path = checkpoint.path
        with self.assertRaises(errors.StateError):
            self.begin(2)
        del checkpoint
        self.assertFalse(os.path.exists(path))
        self.begin(2).abort()

    def test_bad_input(self):
        checkpoint = self.begin(1)
        self.assertRaises(TypeError, checkpoint.put, "name", "text")
        self.assertRaises(TypeError, checkpoint.put, b"name", b"bytes")
        self.assertRaises(ValueError, checkpoint.put, "../up", b"bytes")
        self.assertRaises(ValueError, self.det.checkpoint_reserve, -1)


if __name__ == "__main__":
    unittest.main()
