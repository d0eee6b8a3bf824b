# SPDX-License-Identifier: Apache-2.0
"""Samplers, each alone and around each other."""
import itertools
import unittest

from torch.utils.data import BatchSampler, SequentialSampler, SubsetRandomSampler

from determined import _det
from determined.pytorch import samplers


def first(sampler, count):
    return list(itertools.islice(sampler, count))


class Passing:
    """A user's sampler that counts the items taken from it."""

    def __init__(self, items):
        self.items, self.taken = items, 0

    def __len__(self):
        return len(self.items)

    def __iter__(self):
        for item in self.items:
            self.taken += 1
            yield item


class Samplers(unittest.TestCase):
    def test_repeats_for_ever_and_is_as_long_as_one_pass(self):
        repeated = samplers.RepeatSampler(SequentialSampler(range(3)))
        self.assertEqual(first(repeated, 8), [0, 1, 2, 0, 1, 2, 0, 1])
        self.assertEqual(len(repeated), 3)
        batches = samplers.RepeatBatchSampler(BatchSampler(SequentialSampler(range(3)), 2, False))
        self.assertEqual(first(batches, 4), [[0, 1], [2], [0, 1], [2]])
        self.assertEqual((len(batches), batches.batch_size), (2, 2))
        self.assertEqual(list(samplers.RepeatSampler([])), [])

    def test_distributes_round_by_round(self):
        parts = [samplers.DistributedSampler(range(7), 3, rank) for rank in range(3)]
        self.assertEqual([list(part) for part in parts], [[0, 3, 6], [1, 4], [2, 5]])
        self.assertEqual([len(part) for part in parts], [3, 2, 2])
        batches = samplers.DistributedBatchSampler(BatchSampler(range(7), 2, False), num_workers=2, rank=1)
        self.assertEqual(list(batches), [[2, 3], [6]])
        for workers, rank in ((2, 2), (2, -1), (0, 0)):
            with self.assertRaisesRegex(ValueError, "expected 0 to num_workers - 1"):
                samplers.DistributedSampler(range(7), workers, rank)

    def test_skips_the_first_only(self):
        self.assertEqual(list(samplers.SkipSampler(range(5), 3)), [3, 4])
        self.assertEqual(len(samplers.SkipSampler(range(5), 3)), 2)
        self.assertEqual(list(samplers.SkipSampler(range(5), 9)), [])
        self.assertEqual(len(samplers.SkipSampler(range(5), 9)), 0)
        skipped = samplers.SkipBatchSampler(samplers.RepeatBatchSampler([[0], [1]]), 3)
        self.assertEqual(first(skipped, 3), [[1], [0], [1]])
        self.assertEqual(len(skipped), 2)
        with self.assertRaisesRegex(ValueError, "skip is -1"):
            samplers.SkipSampler(range(5), -1)

    def test_shuffles_by_seed_and_epoch_as_libdet_does(self):
        shuffled = samplers.ReproducibleShuffleSampler(SequentialSampler(range(1000)), 17)
        epochs = [list(shuffled) for _ in range(3)]
        for epoch, order in enumerate(epochs):
            expected, _ = _det.order(1000, 1, True, 17, epoch * 1000, 1000)
            self.assertEqual(order, list(memoryview(expected).cast("q")))
            self.assertEqual(sorted(order), list(range(1000)))
        self.assertNotEqual(epochs[0], epochs[1])
        shuffled.set_epoch(1)
        self.assertEqual(list(shuffled), epochs[1])
        self.assertNotEqual(list(samplers.ReproducibleShuffleSampler(range(1000), 18)), epochs[0])
        self.assertEqual(list(samplers.ReproducibleShuffleSampler("ab", -1)), list(samplers.ReproducibleShuffleSampler("ab", 2**64 - 1)))

    def test_shuffled_batches_stay_whole(self):
        batches = list(BatchSampler(range(10), 3, False))
        shuffled = list(samplers.ReproducibleShuffleBatchSampler(BatchSampler(range(10), 3, False), 5))
        self.assertEqual(sorted(shuffled), batches)
        self.assertNotEqual(shuffled, batches)

    def test_the_order_of_application_is_repeat_distribute_skip(self):
        plain = BatchSampler(SequentialSampler(range(10)), 2, False)  # 5 batches
        adapted = samplers.adapt_batch_sampler(plain, repeat=True, skip=4, num_replicas=2, rank=1)
        every = [batch for _ in range(6) for batch in plain]
        self.assertEqual(first(adapted, 8), every[1::2][4:12])
        self.assertIs(samplers.adapt_batch_sampler(plain), plain)
        self.assertEqual(list(samplers.adapt_sampler(range(6), skip=1, num_replicas=2, rank=0)), [2, 4])

    def test_what_is_skipped_is_the_same_as_what_is_passed_over(self):
        def around(inner):
            return samplers.DistributedSampler(samplers.RepeatSampler(inner), 3, 1)

        for make in (
            lambda: samplers.ReproducibleShuffleSampler(SequentialSampler(range(7)), 3),
            lambda: samplers.ReproducibleShuffleSampler([3, 1, 4, 1, 5], 3),
            lambda: BatchSampler(SequentialSampler(range(7)), 2, True),
            lambda: BatchSampler(SequentialSampler(range(7)), 2, False),
            lambda: Passing(list(range(7))),
        ):
            every = first(around(make()), 40)
            for skip in (0, 1, 6, 7, 20):
                self.assertEqual(first(samplers.SkipSampler(around(make()), skip), 20), every[skip : skip + 20])

    def test_nothing_is_passed_over_that_can_be_computed(self):
        huge = samplers.ReproducibleShuffleSampler(SequentialSampler(range(10**12)), 3)
        skipped = samplers.SkipSampler(samplers.DistributedSampler(samplers.RepeatSampler(huge), 4, 3), 10**12)
        self.assertEqual(len(first(skipped, 5)), 5)
        self.assertEqual(huge.epoch, 5)
        theirs = Passing(list(range(10)))
        self.assertEqual(first(samplers.SkipSampler(theirs, 5), 1), [5])
        self.assertEqual(theirs.taken, 6)

    def test_around_samplers_of_pytorch(self):
        chosen = samplers.RepeatSampler(SubsetRandomSampler([5, 6]))
        self.assertEqual(sorted(first(chosen, 4)), [5, 5, 6, 6])


if __name__ == "__main__":
    unittest.main()
