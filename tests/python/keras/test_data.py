# SPDX-License-Identifier: Apache-2.0
"""Sequences in memory, sequences behind workers, datasets cached on disk."""
import multiprocessing
import os
import threading
import unittest

import keras
import numpy as np
import tensorflow as tf
import training
from offline_case import Offline
from training import Place, cached

import determined as det
from determined.keras import InMemorySequence, SequenceAdapter, _cache, data


class InMemory(unittest.TestCase):
    def test_it_is_a_sequence_of_keras(self):
        self.assertIs(data.InMemorySequence, InMemorySequence)
        made = InMemorySequence(data=np.arange(10), labels=np.arange(10) * 2, batch_size=4)
        self.assertIsInstance(made, keras.utils.Sequence)
        self.assertEqual(len(made), 3)
        x, y = made[2]
        self.assertEqual((x.tolist(), y.tolist()), ([8, 9], [16, 18]))
        self.assertEqual([len(batch[0]) for batch in made], [4, 4, 2])
        self.assertRaises(IndexError, lambda: made[3])

    def test_lists_and_dicts_of_arrays(self):
        a, b, w = np.arange(6), np.arange(12).reshape(6, 2), np.ones(6)
        x, y, weights = InMemorySequence({"a": a, "b": [b, a]}, (a, b), 4, sample_weights=w)[1]
        self.assertEqual(x["a"].tolist(), [4, 5])
        self.assertEqual(x["b"][0].tolist(), [[8, 9], [10, 11]])
        self.assertEqual(y[1].tolist(), [[8, 9], [10, 11]])
        self.assertEqual(weights.tolist(), [1, 1])
        self.assertEqual(len(InMemorySequence(a, batch_size=2)[0]), 1)
        self.assertEqual(InMemorySequence(tf.constant([1, 2]), tf.constant([3, 4]), 2)[0][1].tolist(), [3, 4])

    def test_every_epoch_has_an_order_of_its_own(self):
        made = InMemorySequence(np.arange(50), np.arange(50), 8, shuffle=True)
        first = np.concatenate([x for x, _ in made]).tolist()
        self.assertEqual(np.concatenate([x for x, _ in made]).tolist(), first)
        made.on_epoch_end()
        second = np.concatenate([x for x, _ in made]).tolist()
        self.assertEqual(sorted(first), list(range(50)))
        self.assertEqual(sorted(second), list(range(50)))
        self.assertNotEqual(first, second)

    def test_bad_input(self):
        a = np.arange(4)
        for kind, sentence, args in (
            (ValueError, "the arrays have different numbers of samples: data has 4, labels has 3", (a, a[:3], 2)),
            (ValueError, r"the arrays have .*: data\['x'\] has 4, labels\[0\] has 4, labels\[1\] has 2", ({"x": a}, (a, a[:2]), 2)),
            (ValueError, "the data is empty", (a[:0], a[:0], 2)),
            (ValueError, "batch_size is 0; expected a whole number of at least 1", (a, a, 0)),
            (ValueError, "batch_size is 2.5", (a, a, 2.5)),
            (ValueError, "data is a single number", (np.float32(3), a, 2)),
            (ValueError, "data is a dict without an array in it", ({}, a, 2)),
            (ValueError, "there are sample_weights but no labels", (a, None, 2, a)),
            (TypeError, "data is of type str; expected an array", ("text", a, 2)),
            (TypeError, r"data\[0\] is of type int", ([1, 2, 3, 4], a, 2)),
            (TypeError, "labels holds Python objects", (a, np.array([a, "x", None, 4], object), 2)),
        ):
            with self.assertRaisesRegex(kind, "^" + sentence):
                InMemorySequence(*args)

    def test_plain_keras_trains_with_it(self):
        made = training.model()
        history = made.fit(InMemorySequence(training.X, training.Y, 16), epochs=1, verbose=0)
        self.assertIn("loss", history.history)


class Old:
    """A sequence without a base class, with only the two methods."""

    def __init__(self):
        self.asked = multiprocessing.Queue()
        self.ends = 0

    def __len__(self):
        return 6

    def __getitem__(self, index):
        self.asked.put((os.getpid(), threading.get_ident()))
        return training.X[index * 16 : index * 16 + 16], training.Y[index * 16 : index * 16 + 16]

    def on_epoch_end(self):
        self.ends += 1

    def makers(self):
        found = []
        while not self.asked.empty():
            found.append(self.asked.get())
        return found


class Uncalled(keras.utils.Sequence):
    def __init__(self):
        pass

    def __len__(self):
        return 2

    def __getitem__(self, index):
        return training.X[:8], training.Y[:8]


class Workers(training.Training):
    def makers(self, is_followed, **options):
        """Processes and threads that made the batches of a training."""
        old = Old()
        made = training.model()
        adapter = SequenceAdapter(old, **options)
        with det.core.init() as context:
            callbacks = [training.callback(context)] if is_followed else []
            made.fit(adapter, epochs=2, verbose=0, callbacks=callbacks)
        self.assertGreaterEqual(old.ends, 2)
        return old.makers()

    def test_nobody_else(self):
        for is_followed in (False, True):
            found = self.makers(is_followed, workers=0)
            self.assertEqual({process for process, _ in found}, {os.getpid()})

    def test_threads(self):
        for is_followed in (False, True):
            found = self.makers(is_followed, workers=2)
            self.assertEqual({process for process, _ in found}, {os.getpid()})
            self.assertTrue(any(thread != threading.get_ident() for _, thread in found))

    def test_processes(self):
        for is_followed in (False, True):
            found = self.makers(is_followed, workers=1, use_multiprocessing=True)
            self.assertTrue(any(process != os.getpid() for process, _ in found))

    def test_the_order_of_its_arguments(self):
        adapter = SequenceAdapter(Uncalled(), True, 3, 5)
        self.assertEqual((adapter.use_multiprocessing, adapter.workers, adapter.max_queue_size), (True, 3, 5))
        with self.assertRaisesRegex(TypeError, "^use_multiprocessing is 2; expected True or False .*workers=2"):
            SequenceAdapter(Uncalled(), 2)

    def test_one_that_never_calls_its_base(self):
        adapter = SequenceAdapter(Uncalled(), workers=2)
        self.assertEqual((len(adapter), adapter.workers, adapter.use_multiprocessing), (2, 2, False))
        training.model().fit(adapter, epochs=1, verbose=0)

    def test_bad_input(self):
        for kind, sentence, make in (
            (TypeError, "SequenceAdapter was given a int", lambda: SequenceAdapter(5)),
            (TypeError, "SequenceAdapter was given a ndarray", lambda: SequenceAdapter(np.arange(3))),
            (ValueError, "workers is -1", lambda: SequenceAdapter(Uncalled(), workers=-1)),
            (ValueError, "workers is True", lambda: SequenceAdapter(Uncalled(), workers=True)),
            (ValueError, "max_queue_size is 0", lambda: SequenceAdapter(Uncalled(), max_queue_size=0)),
        ):
            with self.assertRaisesRegex(kind, "^" + sentence):
                make()


def numbers(count=100):
    return tf.data.Dataset.range(count)


def seen(dataset):
    return [int(each) for each in dataset]


class Cached(Offline):
    def test_it_is_made_once(self):
        calls = []

        def make():
            calls.append(1)
            return numbers()

        self.assertEqual(seen(cached("a", make, shuffle=False)), list(range(100)))
        self.assertEqual(seen(cached("a", make, shuffle=False)), list(range(100)))
        self.assertEqual(len(calls), 1)
        cached("b/..", make)
        self.assertEqual(len(calls), 2)
        folder = self.path(".cache", "determined", "datasets")
        self.assertEqual(sorted(os.listdir(folder)), ["a_train", "b%2F%2E%2E_train"])
        self.assertEqual(sorted(os.listdir(os.path.join(folder, "a_train"))), ["1.records", "1.records.lock"])

    def test_training_and_validation_of_one_id_and_version_are_kept_apart(self):
        for is_made in (True, False):  # then both are read from disk
            context = det.keras.TFKerasExperimentalContext(Place())
            trained = context.cache_train_dataset("same", "v1")(lambda: numbers(40))
            validated = context.cache_validation_dataset("same", "v1")(lambda: numbers(7))
            self.assertEqual(seen(trained()), list(range(40)), is_made)
            self.assertEqual(seen(validated()), list(range(7)), is_made)

    def test_a_file_that_both_shared_is_not_read_any_more(self):
        shared = self.path(".cache", "determined", "datasets", "same", "v1.records")
        os.makedirs(os.path.dirname(shared))
        context = det.keras.TFKerasExperimentalContext(Place())
        context.cache_train_dataset("same", "v1")(lambda: numbers(40))()
        os.rename(self.path(".cache", "determined", "datasets", "same_train", "v1.records"), shared)
        self.assertEqual(len(seen(context.cache_validation_dataset("same", "v1")(lambda: numbers(7))())), 7)
        self.assertEqual(len(seen(context.cache_train_dataset("same", "v1")(lambda: numbers(9))())), 9)

    def test_the_configuration_says_where(self):
        os.makedirs(self.path("layer"))
        config = {"data_layer": {"type": "shared_fs", "host_storage_path": self.path("layer")}}
        cached("a", numbers, Place(config=config))
        self.assertTrue(os.path.exists(self.path("layer", "determined-datasets", "a_train", "1.records")))

    def test_epochs_are_shuffled(self):
        dataset = cached("a", numbers)
        self.assertEqual(int(dataset.cardinality()), 100)
        first, second = seen(dataset), seen(dataset)
        self.assertEqual(sorted(first), list(range(100)))
        self.assertEqual(sorted(second), list(range(100)))
        self.assertNotEqual(first, second)
        self.assertEqual(seen(cached("a", numbers)), first)
        same = cached("a", numbers, skip_shuffle_at_epoch_end=True)
        self.assertEqual(seen(same), seen(same))
        self.assertEqual(sorted(seen(same)), list(range(100)))

    def test_a_pass_that_is_not_finished_does_not_count(self):
        dataset = cached("a", lambda: numbers(1000))
        first = seen(dataset.take(5))
        self.assertEqual(seen(dataset.take(5)), first)

    def test_batches_are_of_the_same_items(self):
        for drop in (False, True):
            dataset = cached("a", numbers).batch(16, drop_remainder=drop)
            found = [each.numpy() for each in dataset]
            self.assertEqual([len(each) for each in found], [16] * 6 + [4] * (not drop))
            self.assertEqual(int(dataset.cardinality()), len(found))
            self.assertEqual(dataset.element_spec.shape.as_list(), [16 if drop else None])
            self.assertEqual(np.concatenate(found).tolist(), seen(cached("a", numbers))[: 100 - 4 * drop])

    def test_a_pass_begins_anywhere(self):
        whole = cached("a", numbers)
        epochs = [seen(whole) for _ in range(3)]
        items = cached("a", numbers)
        for element in (0, 1, 63, 64, 99):
            self.assertTrue(_cache.seek(items, 2, element))
            self.assertEqual(seen(items), epochs[2][element:])
        self.assertTrue(_cache.seek(items, 2, 100))
        self.assertEqual(seen(items), [])
        batches = cached("a", numbers).batch(16)
        self.assertTrue(_cache.seek(batches, 1, 5))
        self.assertEqual(seen(batches.unbatch()), epochs[1][80:])
        self.assertEqual(seen(batches.unbatch()), epochs[2])
        self.assertEqual(seen(cached("a", numbers, shuffle=False).skip(70)), list(range(70, 100)))

    def test_going_through_what_was_made_of_it(self):
        epochs = [seen(each) for each in [cached("a", numbers)] * 2]
        mapped = cached("a", numbers).map(lambda n: n + 1, num_parallel_calls=2).batch(8).prefetch(3)
        self.assertTrue(_cache.seek(mapped, 1, 3))
        self.assertEqual([n - 1 for n in seen(mapped.unbatch())], epochs[1][24:])
        for change in (
            lambda d: d.filter(lambda n: n > 3).batch(8),
            lambda d: d.shuffle(10).batch(8),
            lambda d: d.map(lambda n: n + tf.random.uniform([], 0, 5, tf.int64)).batch(8),
        ):
            dataset = change(cached("a", numbers))
            self.assertFalse(_cache.seek(dataset, 1, 3))
            self.assertTrue(_cache.seek(dataset, 1, 0))
        self.assertIsNone(_cache.seek(numbers(), 1, 0))

    def test_items_of_any_structure(self):
        def items():
            for i in range(40):
                yield {
                    "text": "w" * i,
                    "texts": np.array([str(i)] * (i % 3), object),
                    "more": (np.arange(i % 5), np.full((2, i % 2), i, np.float64)),
                    "ragged": tf.ragged.constant([[1] * (i % 3), [2]], tf.int32),
                    "sparse": tf.sparse.from_dense([[0, i]]),
                }

        signature = {
            "text": tf.TensorSpec([], tf.string),
            "texts": tf.TensorSpec([None], tf.string),
            "more": (tf.TensorSpec([None], tf.int64), tf.TensorSpec(None, tf.float64)),
            "ragged": tf.RaggedTensorSpec([2, None], tf.int32, 1),
            "sparse": tf.SparseTensorSpec([1, 2], tf.int32),
        }

        def make():
            return tf.data.Dataset.from_generator(items, output_signature=signature)

        dataset = cached("odd", make, shuffle=False)
        tf.nest.map_structure(self.assertEqual, dataset.element_spec, signature)
        self.assertEqual(int(dataset.cardinality()), 40)
        count = 0
        for found, wanted in zip(dataset, make()):
            for a, b in zip(*(tf.nest.flatten(each, expand_composites=True) for each in (found, wanted))):
                np.testing.assert_array_equal(a.numpy(), b.numpy())
                self.assertEqual(a.dtype, b.dtype)
            count += 1
        self.assertEqual(count, 40)

    def test_every_type_of_number(self):
        types = ["bool", "int8", "uint16", "float16", "bfloat16", "float64", "complex64"]
        columns = tuple(tf.cast(np.arange(12).reshape(6, 2), each) for each in types)

        def make():
            return tf.data.Dataset.from_tensor_slices(columns)

        found = next(iter(cached("types", make, shuffle=False).batch(6)))
        for a, b in zip(found, columns):
            self.assertEqual(a.dtype, b.dtype)
            self.assertEqual(a.numpy().tobytes(), b.numpy().tobytes())

    def test_strings_of_one_shape_are_stacked(self):
        def make():
            return tf.data.Dataset.from_tensor_slices(([["a", ""], ["bb", "c" * 100], ["d", "e"]], [1, 2, 3]))

        texts, labels = next(iter(cached("texts", make, shuffle=False).batch(3)))
        self.assertEqual(texts.numpy().tolist(), [[b"a", b""], [b"bb", b"c" * 100], [b"d", b"e"]])
        self.assertEqual(labels.numpy().tolist(), [1, 2, 3])

    def test_shapes_that_turn_out_alike_are_stacked(self):
        def make():
            return tf.data.Dataset.from_generator(
                lambda: iter(np.arange(12.0).reshape(6, 2)), output_signature=tf.TensorSpec([None], tf.float64)
            )

        dataset = cached("late", make, shuffle=False).batch(4)
        self.assertEqual(dataset.element_spec.shape.as_list(), [None, 2])
        self.assertEqual([each.numpy().shape for each in dataset], [(4, 2), (2, 2)])

    def test_large_batches_are_read_by_several_threads(self):
        def make():
            return tf.data.Dataset.from_tensor_slices(np.arange(40 * 10000, dtype="f4").reshape(40, 10000))

        epochs = cached("large", make)
        wanted = [[int(each[0]) // 10000 for each in epochs] for _ in range(2)]
        dataset = cached("large", make).batch(32)
        for epoch in wanted:
            self.assertEqual([int(row[0]) // 10000 for batch in dataset for row in batch], epoch)


class Ranks(Offline):
    def parts(self, count, size, per_slot=None, **hparams):
        return [
            [
                batch.numpy().tolist()
                for batch in cached(
                    f"n{count}", lambda: numbers(count), Place(rank, size, hparams)
                ).batch(per_slot[rank] if per_slot else 4)
            ]
            for rank in range(size)
        ]

    def test_all_have_equally_many(self):
        parts = self.parts(35, 3)
        self.assertEqual([[len(batch) for batch in part] for part in parts], [[4, 4, 3]] * 3)
        found = sum((batch for part in parts for batch in part), [])
        self.assertEqual(len(set(found)), 33)

    def test_they_share_the_batches_of_all(self):
        whole = seen(cached("n35", lambda: numbers(35)))
        for count, sizes in ((35, (3, 2)), (36, (3, 2)), (31, (3, 2))):
            whole = seen(cached(f"n{count}", lambda: numbers(count)))
            parts = self.parts(count, 2, sizes, global_batch_size=5)
            merged = [sum(batches, []) for batches in zip(*parts)]
            wanted = [whole[at : at + 5] for at in range(0, count, 5)]
            self.assertEqual(len(parts[0]), len(parts[1]))
            self.assertEqual(merged, [each for each in wanted if len(each) > 1])

    def test_a_validation_sees_everything_once(self):
        found = []
        for rank in range(3):
            context = det.keras.TFKerasExperimentalContext(Place(rank, 3, {"global_batch_size": 6}))
            dataset = context.cache_validation_dataset("v", "1", shuffle=True)(lambda: numbers(31))()
            first = seen(dataset)
            self.assertEqual(seen(dataset), first)
            self.assertEqual(seen(dataset.batch(2).unbatch()), first)
            found += first
        self.assertEqual(sorted(found), list(range(31)))

    def test_nobody_shares_twice(self):
        dataset = cached("s", lambda: numbers(30), Place(1, 3))
        self.assertIs(dataset.shard(3, 1), dataset)
        self.assertEqual(len(seen(dataset.shard(2, 0))), 5)

    def test_too_little_for_all(self):
        with self.assertRaisesRegex(ValueError, "2 items cannot be shared by 3 processes"):
            cached("few", lambda: numbers(2), Place(0, 3))

    def test_processes_of_a_machine_write_it_once(self):
        calls = self.path("calls")

        def make():
            with open(calls, "a") as file:
                file.write("x")
            return numbers()

        threads = [threading.Thread(target=cached, args=("once", make)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with open(calls) as file:
            self.assertEqual(file.read(), "x")


class Damage(Offline):
    def file(self):
        return self.path(".cache", "determined", "datasets", "a_train", "1.records")

    def test_a_file_that_was_cut_is_made_again(self):
        cached("a", numbers)
        os.truncate(self.file(), 500)
        with self.assertLogs("determined.keras", "WARNING") as logs:
            self.assertEqual(sorted(seen(cached("a", numbers))), list(range(100)))
        self.assertIn("making it again", logs.output[0])

    def test_a_file_of_something_else_is_made_again(self):
        os.makedirs(os.path.dirname(self.file()))
        with open(self.file(), "wb") as file:
            file.write(b"something else" * 100)
        with self.assertLogs("determined.keras", "WARNING"):
            self.assertEqual(len(seen(cached("a", numbers))), 100)

    def test_a_damaged_item_is_refused(self):
        cached("a", numbers)
        with open(self.file(), "r+b") as file:
            file.seek(64 + 8 * 30)
            file.write(b"J")
        with self.assertRaisesRegex(tf.errors.DataLossError, "record 30 of '.*1.records' is damaged"):
            seen(cached("a", numbers))

    def test_what_a_killed_process_left_is_removed(self):
        os.makedirs(os.path.dirname(self.file()))
        draft = os.path.join(os.path.dirname(self.file()), ".1.records.records0")
        with open(draft, "w"):
            pass
        cached("a", numbers)
        self.assertFalse(os.path.exists(draft))

    def test_a_function_that_fails_leaves_nothing(self):
        def make():
            return numbers().map(lambda n: tf.debugging.check_numerics(1 / tf.cast(n - 50, tf.float32), "odd"))

        with self.assertRaises(tf.errors.InvalidArgumentError):
            cached("a", make)
        self.assertEqual(os.listdir(os.path.dirname(self.file())), ["1.records.lock"])
        self.assertEqual(len(seen(cached("a", numbers))), 100)


class BadInput(Offline):
    def test_sentences(self):
        context = det.keras.TFKerasExperimentalContext(Place())
        variant = tf.data.Dataset.from_tensors(numbers())
        for kind, sentence, make in (
            (TypeError, "dataset_id is 5; expected a string", lambda: context.cache_train_dataset(5, "1")),
            (ValueError, "dataset_version is empty", lambda: context.cache_train_dataset("a", "")),
            (ValueError, "dataset_id is too long", lambda: context.cache_train_dataset("a" * 300, "1")),
            (TypeError, "5 cannot be called", lambda: context.cache_train_dataset("a", "1")(5)),
            (TypeError, "the function that makes dataset 'a' version '1' returned a ndarray", lambda: cached("a", lambda: np.arange(3))),
            (ValueError, "dataset 'a' version '1' is empty", lambda: cached("a", lambda: numbers(0))),
            (ValueError, "dataset 'a' version '1' never ends", lambda: cached("a", lambda: numbers().repeat())),
            (TypeError, "a dataset whose items hold", lambda: cached("a", lambda: variant)),
        ):
            with self.assertRaisesRegex(kind, "^" + sentence):
                make()


if __name__ == "__main__":
    unittest.main()
