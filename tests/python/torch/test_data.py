# SPDX-License-Identifier: Apache-2.0
"""det.pytorch.DataLoader: like PyTorch's own in manual iteration; sharded and seekable in a feed."""
import collections
import json
import random
import unittest
from unittest import mock

import numpy as np
import torch
from torch.utils import data
from torch.utils.data import TensorDataset

from determined import _det, errors, pytorch
from determined.pytorch import _data, _data_workers, samplers

RECORDS = 103
ROWS = torch.arange(RECORDS * 3, dtype=torch.float32).reshape(RECORDS, 3)
NUMBERS = torch.arange(RECORDS)
TENSORS = TensorDataset(ROWS, NUMBERS)


class Records(data.Dataset):
    """Not arrays: each record is fetched."""

    def __init__(self, length=RECORDS):
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        return {"x": torch.tensor([float(index)]), "y": index}


class Drawing(Records):
    """Draws from every generator."""

    def __getitem__(self, index):
        return index, random.random(), np.random.rand(), torch.rand(2)


def flat(batch):
    if not isinstance(batch, (dict, list, tuple)):
        return [batch.tolist() if isinstance(batch, torch.Tensor) else batch]
    parts = batch.values() if isinstance(batch, dict) else batch
    return [value for part in parts for value in flat(part)]


def every(batches):
    return [flat(batch) for batch in batches]


def feed(loader, rank=0, size=1, seed=5, **more):
    return _data.make_feed(loader, seed=seed, rank=rank, size=size, **more)


def numbers(driven):
    """Which records the batches of an epoch hold."""
    return [flat(batch)[-1] for batch in driven.epoch()]


class AsPyTorch(unittest.TestCase):
    """The same arguments, the same batches."""

    def same(self, dataset, *args, **kwargs):
        torch.manual_seed(3)
        ours = list(pytorch.DataLoader(dataset, *args, **kwargs))
        drawn = torch.rand(1)
        torch.manual_seed(3)
        theirs = list(data.DataLoader(dataset, *args, **kwargs))
        self.assertEqual(every(ours), every(theirs))
        self.assertEqual(drawn, torch.rand(1))
        for one, other in zip(ours, theirs):
            self.assertEqual(type(one), type(other))
            for a, b in zip(one, other) if isinstance(one, (list, tuple)) else [(one, other)]:
                self.assertEqual(type(a), type(b))
                self.assertEqual(getattr(a, "dtype", None), getattr(b, "dtype", None))
        self.assertEqual(len(pytorch.DataLoader(dataset, *args, **kwargs)), len(theirs))

    def test_batches_are_those_of_pytorch_for_equal_seeds(self):
        for dataset in (TENSORS, ROWS, NUMBERS.numpy(), ROWS.numpy(), Records(), list(range(50)), data.Subset(TENSORS, [5, 1, 7, 2])):
            for kwargs in (
                {"batch_size": 10},
                {"batch_size": 10, "drop_last": True},
                {"batch_size": 10, "shuffle": True},
                {"batch_size": 3, "shuffle": True, "generator": torch.Generator()},
                {"batch_size": 3, "sampler": data.RandomSampler(dataset, replacement=True)},
                {"batch_sampler": data.BatchSampler(data.SubsetRandomSampler([1, 2, 3]), 2, False)},
                {"batch_size": None},
                {},
            ):
                if "generator" in kwargs:  # which goes on
                    kwargs["generator"].manual_seed(1)
                    first = every(pytorch.DataLoader(dataset, **kwargs))
                    kwargs["generator"].manual_seed(1)
                    self.assertEqual(first, every(data.DataLoader(dataset, **kwargs)))
                else:
                    self.same(dataset, **kwargs)

    def test_all_types_of_arrays(self):
        kinds = (np.float16, np.float32, np.float64, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.int64, np.bool_, np.complex64)
        for kind in kinds:
            self.same(np.arange(20).reshape(10, 2).astype(kind), 4)
            self.same(np.arange(10).astype(kind), 4)
        for kind in (torch.bfloat16, torch.float16, torch.uint8, torch.complex64, torch.bool):
            self.same(TensorDataset(ROWS.to(kind), NUMBERS), 10, True)
        self.same(TensorDataset(ROWS.t().contiguous().t(), NUMBERS.flip(0)), 10, True)
        swapped = np.arange(10).reshape(5, 2).astype(">f8")
        for loader in (data.DataLoader, pytorch.DataLoader):
            with self.assertRaisesRegex(ValueError, "byte order"):
                list(loader(swapped, 2))

    def test_long_rows(self):
        long = torch.arange(60 * 300, dtype=torch.float32).reshape(60, 4, 75)
        for kind in (torch.float32, torch.float64, torch.bfloat16, torch.int16):
            self.same(TensorDataset(long.to(kind), NUMBERS[:60]), 7, True)
        self.same(long.numpy(), 7, True)
        self.same(long.numpy()[::2], 7, True)  # not contiguous
        self.same(TensorDataset(long), 2, sampler=[0, -1, 59, -60, 3])
        for wrong in (60, -61):
            with self.assertRaisesRegex(IndexError, f"there is no row {wrong}: the array has 60"):
                list(pytorch.DataLoader(TensorDataset(long), 2, sampler=[1, wrong]))

    def test_rows_are_gathered_into_memory_that_fits(self):
        source, indices = np.arange(12, dtype=np.int32).reshape(4, 3), np.array([2, -1, 0])
        to = np.zeros((3, 3), np.int32)
        _det.gather(source, 12, indices, to)
        self.assertEqual(to.tolist(), source[indices].tolist())
        _det.gather(source, 12, indices[:0], to[:0])
        for row_bytes, chosen, room in ((12, indices, to[:2]), (12, indices[:2], to), (7, indices, to), (0, indices, to), (-1, indices, to),
                                        (12, indices.astype(np.int32), to)):  # fmt: skip
            with self.assertRaises(errors.InvalidError):
                _det.gather(source, row_bytes, chosen, room)
        with self.assertRaises(IndexError):
            _det.gather(source, 12, np.array([0, 4, 0]), to)
        for wrong in (source[:, ::2], bytes(36)):  # not contiguous, read-only
            with self.assertRaises((TypeError, BufferError, ValueError)):
                _det.gather(source, 12, indices, wrong)

    def test_gradients_reach_the_rows(self):
        rows = torch.ones(4, 2, requires_grad=True)
        for (batch,) in pytorch.DataLoader(TensorDataset(rows), 2):
            batch.sum().backward()
        self.assertEqual(rows.grad.tolist(), torch.ones(4, 2).tolist())

    def test_tuples_and_dicts_of_arrays_are_data_sets(self):
        columns = {"x": ROWS.numpy(), "y": NUMBERS}
        batches = list(pytorch.DataLoader(columns, 10))
        self.assertEqual(batches[1]["y"].tolist(), list(range(10, 20)))
        self.assertEqual(batches[1]["x"].tolist(), ROWS[10:20].tolist())
        self.assertEqual(len(batches), 11)
        batches = list(pytorch.DataLoader((ROWS.numpy(), NUMBERS.numpy()), 10, num_workers=1))
        self.assertEqual(every(batches), every(data.DataLoader(TENSORS, 10)))
        self.assertEqual(every(pytorch.DataLoader(ROWS[:8].split(2), 2)), every(data.DataLoader(ROWS[:8].split(2), 2)))
        loader = pytorch.DataLoader(columns, 10, collate_fn=len)
        self.assertEqual(list(loader), [10] * 10 + [3])
        with self.assertRaisesRegex(ValueError, "one row for each record: 'x' has 103, 'y' has 3"):
            pytorch.DataLoader({"x": ROWS, "y": NUMBERS[:3]})

    def test_a_loader_by_hand(self):
        loader = pytorch.DataLoader(TENSORS, 10)
        part = loader.get_data_loader(repeat=True, skip=5, num_replicas=2, rank=1)
        self.assertIsInstance(part, data.DataLoader)
        batches = iter(part)
        plain = [batch[1].tolist() for batch in data.DataLoader(TENSORS, 10)] * 4
        self.assertEqual([next(batches)[1].tolist() for _ in range(8)], plain[1::2][5:13])
        records = pytorch.DataLoader(TENSORS, None).get_data_loader(skip=100)
        self.assertEqual([int(record[1]) for record in records], [100, 101, 102])


class Driven(unittest.TestCase):
    def test_alone_and_in_order_it_is_pytorchs(self):
        for dataset in (TENSORS, Records()):
            driven = feed(pytorch.DataLoader(dataset, 10))
            self.assertEqual((driven.batches, driven.records), (11, 103))
            for _ in range(2):
                self.assertEqual(every(driven.epoch()), every(data.DataLoader(dataset, 10)))

    def test_every_epoch_is_shuffled_otherwise_and_the_same_again(self):
        epochs = []
        for dataset in (TENSORS, Records()):
            driven = feed(pytorch.DataLoader(dataset, 10, shuffle=True))
            epochs.append([numbers(driven) for _ in range(3)])
        self.assertEqual(epochs[0], epochs[1])
        one, two, three = epochs[0]
        self.assertTrue(one != two != three != one)
        for epoch in epochs[0]:
            self.assertEqual(sorted(sum(epoch, [])), list(range(RECORDS)))
        again = feed(pytorch.DataLoader(TENSORS, 10, shuffle=True))
        again.go_to(1, 0)
        self.assertEqual(numbers(again), two)
        other = feed(pytorch.DataLoader(TENSORS, 10, shuffle=True), seed=6)
        self.assertNotEqual(numbers(other), one)
        own = torch.Generator().manual_seed(9)
        seeded = feed(pytorch.DataLoader(TENSORS, 10, shuffle=True, generator=own))
        self.assertNotEqual(numbers(seeded), one)

    def test_it_begins_anywhere(self):
        loaders = (
            pytorch.DataLoader(TENSORS, 10, shuffle=True),
            pytorch.DataLoader(TENSORS, 10, shuffle=True, num_workers=1),
            pytorch.DataLoader(Records(), 10, shuffle=True, drop_last=True),
            pytorch.DataLoader(TENSORS, 10, sampler=data.WeightedRandomSampler(torch.ones(RECORDS), 50)),
            pytorch.DataLoader(TENSORS, batch_sampler=data.BatchSampler(data.RandomSampler(TENSORS), 7, False)),
        )
        for loader in loaders:
            for rank in range(2):
                driven = feed(loader, rank, 2)
                epochs = [numbers(driven) for _ in range(3)]
                for epoch, position in ((2, 1), (0, 0), (1, driven.batches - 1), (0, 2)):
                    driven.go_to(epoch, position)
                    self.assertEqual(driven.where(), (epoch, position))
                    self.assertEqual(numbers(driven), epochs[epoch][position:])
                    self.assertEqual(driven.where(), (epoch + 1, 0))
                driven.go_to(0, driven.batches)  # after the last batch comes the first of the next epoch
                self.assertEqual(numbers(driven), epochs[1])

    def test_what_was_left_is_gone_on_with(self):
        for loader in (pytorch.DataLoader(TENSORS, 10), pytorch.DataLoader(TENSORS, 10, num_workers=2)):
            driven = feed(loader)
            begun = driven.epoch()
            self.assertEqual([flat(next(begun))[-1][0] for _ in range(3)], [0, 10, 20])
            self.assertEqual(driven.where(), (0, 3))
            self.assertEqual([batch[0] for batch in numbers(driven)], list(range(30, 110, 10)))
            self.assertEqual(list(begun), [])
            driven.close()

    def test_a_million_million_records_are_no_matter(self):
        driven = feed(pytorch.DataLoader(Records(10**12), 100, shuffle=True), 3, 4)
        driven.go_to(7, 2 * 10**9)
        batch = next(driven.epoch())
        self.assertEqual(len(batch["y"]), 100)
        driven.close()

    def test_nothing_is_drawn_but_by_the_batches_themselves(self):
        random.seed(1), np.random.seed(1), torch.manual_seed(1)
        expected = (random.random(), np.random.rand(), torch.rand(1))
        random.seed(1), np.random.seed(1), torch.manual_seed(1)
        for loader in (
            pytorch.DataLoader(TENSORS, 10, shuffle=True),
            pytorch.DataLoader(TENSORS, 10, shuffle=True, num_workers=2),
            pytorch.DataLoader(TENSORS, 10, sampler=data.RandomSampler(TENSORS)),
            pytorch.DataLoader(Records(), 10, sampler=data.RandomSampler(TENSORS)),
        ):
            list(feed(loader).epoch())
        self.assertEqual((random.random(), np.random.rand(), torch.rand(1)), expected)

    def test_without_workers_the_generators_of_the_process_decide(self):
        driven = feed(pytorch.DataLoader(Drawing(), 10, shuffle=True))
        torch.manual_seed(1), random.seed(1), np.random.seed(1)
        begun = driven.epoch()
        for _ in range(4):
            next(begun)
        kept = random.getstate(), np.random.get_state(), torch.get_rng_state()
        rest = every(begun)
        again = feed(pytorch.DataLoader(Drawing(), 10, shuffle=True))
        random.setstate(kept[0]), np.random.set_state(kept[1]), torch.set_rng_state(kept[2])
        again.go_to(0, 4)
        self.assertEqual(every(again.epoch()), rest)


    def test_a_data_set_that_only_its_sampler_can_count(self):
        class Squares(data.Dataset):
            def __getitem__(self, index):
                return index * index

        loader = pytorch.DataLoader(Squares(), 2, sampler=[1, 2, 3])
        self.assertEqual(every(feed(loader).epoch()), [[[1, 4]], [[9]]])

    def test_batches_larger_than_the_data(self):
        for size in (10**6, 10**18):
            self.assertEqual([len(batch) for batch in numbers(feed(pytorch.DataLoader(TENSORS, size), 1, 2))], [52])
            with self.assertRaisesRegex(ValueError, "drop_last=True leaves out"):
                feed(pytorch.DataLoader(TENSORS, size, drop_last=True))
            driven = feed(pytorch.DataLoader(TENSORS, size, drop_last=True), 1, 2, training=False)
            self.assertEqual(list(driven.epoch()), [])

    def test_batches_are_pinned_where_there_is_a_gpu(self):
        with mock.patch("torch.cuda.is_available", lambda: True), mock.patch.object(_data_workers, "pinned", lambda batch: "pinned"):
            for dataset in (TENSORS, Records()):
                for pins in (True, False):
                    driven = feed(pytorch.DataLoader(dataset, 60, pin_memory=pins))
                    self.assertEqual([batch == "pinned" for batch in driven.epoch()], [pins, pins])
        self.assertEqual(len(list(feed(pytorch.DataLoader(TENSORS, 60, pin_memory=True)).epoch())), 2)


class Shared(unittest.TestCase):
    """Among ranks."""

    def parts(self, loader, size, **more):
        feeds = [feed(loader, rank, size, **more) for rank in range(size)]
        epochs = [numbers(driven) for driven in feeds]
        for driven, epoch in zip(feeds, epochs):
            self.assertEqual(driven.batches, len(epoch))
            self.assertEqual(driven.records, sum(len(batch) for part in epochs for batch in part))
        return epochs

    def test_batch_k_is_rank_k_mod_sizes(self):
        alone = numbers(feed(pytorch.DataLoader(TENSORS, 10, shuffle=True)))
        for size in (2, 3, 4):
            parts = self.parts(pytorch.DataLoader(TENSORS, 10, shuffle=True), size)
            for k in range(10 // size * size):
                self.assertEqual(parts[k % size][k // size], alone[k])

    def test_what_is_over_is_shared_by_all(self):
        listed = pytorch.DataLoader(TENSORS, 10, sampler=list(range(RECORDS)))
        for loader in (pytorch.DataLoader(TENSORS, 10, shuffle=True), listed):
            for size in (2, 3, 4, 7):
                for training in (True, False):
                    parts = self.parts(loader, size, training=training)
                    self.assertEqual(len({len(part) for part in parts}), 1)  # as many batches
                    last = [len(part[-1]) for part in parts]
                    self.assertLessEqual(max(last) - min(last), 1)
                    self.assertEqual(sorted(n for part in parts for batch in part for n in batch), list(range(RECORDS)))

    def test_a_round_that_is_short_is_shared_evenly(self):
        for loader in (pytorch.DataLoader(NUMBERS[:101], 100), pytorch.DataLoader(NUMBERS, 100, sampler=list(range(101)))):
            self.assertEqual([len(part[0]) for part in self.parts(loader, 2)], [50, 51])

    def test_ranks_whose_batches_differ_agree_on_a_round(self):
        """As context.distributed.shard_batch_size() shares a batch: 5 records over 2 ranks are 3 and 2."""

        class Two:
            size = 2

            def allgather(self, mine):
                return [3, 2]

        for shuffle in (False, True):
            for training in (True, False):
                loaders = [pytorch.DataLoader(NUMBERS[:62], each, shuffle=shuffle) for each in (3, 2)]
                ours = [_data.round_of(each, Two()) for each in loaders]
                self.assertEqual(ours, [5, 5])
                feeds = [feed(each, rank, 2, training=training, round_size=5) for rank, each in enumerate(loaders)]
                self.assertEqual([driven.batches for driven in feeds], [13, 13])
                parts = [numbers(driven) for driven in feeds]
                self.assertEqual(sorted(n for part in parts for batch in part for n in batch), list(range(62)))
                self.assertEqual({len(one) + len(other) for one, other in zip(*parts)}, {5, 2})
        dropping = [feed(pytorch.DataLoader(NUMBERS[:62], 3, drop_last=True), rank, 2, round_size=5) for rank in range(2)]
        self.assertEqual([driven.batches for driven in dropping], [12, 12])
        sampled = pytorch.DataLoader(NUMBERS, 3, sampler=range(RECORDS))
        with self.assertRaisesRegex(ValueError, "global batch size that 2 divides"):
            feed(sampled, 0, 2, round_size=5)

        class Apart(Two):
            def allgather(self, mine):
                return [3, None]

        with self.assertRaisesRegex(ValueError, "their batch sizes are 3, unknown"):
            _data.round_of(sampled, Apart())

    def test_fewer_records_than_ranks_are_nobodys_in_training(self):
        plain = pytorch.DataLoader(TENSORS, 25)
        sampled = pytorch.DataLoader(TENSORS, 25, sampler=range(RECORDS))
        for loader in (plain, sampled):
            parts = self.parts(loader, 4)  # 100 and 3
            self.assertEqual([len(part) for part in parts], [1, 1, 1, 1])
            parts = self.parts(loader, 4, training=False)
            self.assertEqual(sum(len(part) for part in parts), 7 if loader is plain else 5)
            self.assertEqual(sorted(n for part in parts for batch in part for n in batch), list(range(RECORDS)))

    def test_batches_that_must_stay_whole_stay_whole(self):
        own = data.BatchSampler(data.SequentialSampler(TENSORS), 10, False)
        for loader, over in ((pytorch.DataLoader(TENSORS, 10, drop_last=True), 100), (pytorch.DataLoader(TENSORS, batch_sampler=own), RECORDS)):
            parts = self.parts(loader, 4)
            self.assertEqual([len(part) for part in parts], [2, 2, 2, 2])
            self.assertTrue(all(len(batch) == 10 for part in parts for batch in part))
            parts = self.parts(loader, 4, training=False)
            self.assertEqual(sorted(n for part in parts for batch in part for n in batch), list(range(over)))
        records = [feed(pytorch.DataLoader(TENSORS, None), rank, 4) for rank in range(4)]
        self.assertEqual([driven.batches for driven in records], [25] * 4)
        self.assertEqual([int(record[1]) for record in records[1].epoch()], list(range(1, 100, 4)))

    def test_validation_is_the_same_every_time(self):
        driven = feed(pytorch.DataLoader(TENSORS, 10, shuffle=True), training=False)
        self.assertEqual(numbers(driven), numbers(driven))
        few = [feed(pytorch.DataLoader(TensorDataset(ROWS[:2], NUMBERS[:2]), 10), rank, 3, training=False) for rank in range(3)]
        self.assertEqual(sorted(sum((sum(numbers(driven), []) for driven in few), [])), [0, 1])
        self.assertEqual(sorted(driven.batches for driven in few), [0, 1, 1])
        self.assertEqual([list(driven.epoch()) for driven in few if not driven.batches], [[]])


class OwnOrder(data.Sampler):
    """Draws one by one, from three generators."""

    def __init__(self, count=60):
        self.count = count

    def __iter__(self):
        for _ in range(self.count):
            yield (random.randrange(50) + int(np.random.randint(50)) + int(torch.randint(5, ()))) % RECORDS


class Stateful(OwnOrder):
    """Continues where it was, and saves its position."""

    def __init__(self):
        self.begin = 0

    def __len__(self):
        return 20

    def __iter__(self):
        begin, self.begin = self.begin, (self.begin + 20) % RECORDS
        return iter([(begin + i) % RECORDS for i in range(20)])

    def state_dict(self):
        return {"begin": self.begin}

    def load_state_dict(self, state):
        self.begin = state["begin"]


class Unsteady(Stateful):
    state_dict = None


class Samplers(unittest.TestCase):
    def test_a_sampler_without_state_gives_the_same_again(self):
        driven = feed(pytorch.DataLoader(TENSORS, 10, sampler=OwnOrder()))
        epochs = [numbers(driven) for _ in range(2)]
        self.assertNotEqual(*epochs)
        self.assertEqual((driven.batches, driven.records, driven.state()), (6, 60, {}))
        again = feed(pytorch.DataLoader(TENSORS, 10, sampler=OwnOrder()))
        again.go_to(1, 4)
        self.assertEqual(numbers(again), epochs[1][4:])

    def test_samplers_that_say_no_more_than_shuffle_does(self):
        for shuffle, kind in ((True, data.RandomSampler), (False, data.SequentialSampler)):
            given = feed(pytorch.DataLoader(TENSORS, 10, sampler=kind(TENSORS)), 1, 2)
            self.assertEqual(numbers(given), numbers(feed(pytorch.DataLoader(TENSORS, 10, shuffle=shuffle), 1, 2)))
        part = feed(pytorch.DataLoader(TENSORS, 10, sampler=data.RandomSampler(range(50))))
        self.assertEqual(sorted(sum(numbers(part), [])), list(range(50)))
        drawn = feed(pytorch.DataLoader(TENSORS, 10, sampler=data.RandomSampler(TENSORS, num_samples=20)))
        self.assertEqual(drawn.records, 20)

    def test_a_sampler_is_told_the_epoch(self):
        shuffled = samplers.ReproducibleShuffleSampler(data.SequentialSampler(TENSORS), 11)
        driven = feed(pytorch.DataLoader(TENSORS, 10, sampler=shuffled))
        driven.go_to(3, 0)
        found = sum(numbers(driven), [])
        shuffled.set_epoch(3)
        self.assertEqual(found, list(shuffled))

    def test_the_state_of_a_sampler_is_kept(self):
        driven = feed(pytorch.DataLoader(TENSORS, 10, sampler=Stateful()))
        self.assertEqual([batch[0] for _ in range(3) for batch in numbers(driven)], [0, 10, 20, 30, 40, 50])
        begun = driven.epoch()
        next(begun)
        state, where = json.loads(json.dumps(driven.state())), driven.where()
        rest = every(begun)
        self.assertEqual(state, {"sampler": {"1": {"begin": 60}}})
        again = feed(pytorch.DataLoader(TENSORS, 10, sampler=Stateful()))
        again.load(state)
        again.go_to(*where)
        self.assertEqual(every(again.epoch()), rest)
        self.assertEqual(numbers(again)[0][0], 80)

    def test_a_generator_of_the_users_is_lent_and_its_seed_counts(self):
        found = []
        for seed in (1, 1, 2):
            own = torch.Generator().manual_seed(seed)
            before = own.get_state()
            driven = feed(pytorch.DataLoader(TENSORS, 10, sampler=data.RandomSampler(TENSORS, generator=own)))
            found.append([numbers(driven), numbers(driven)])
            self.assertTrue(torch.equal(before, own.get_state()))
        self.assertEqual(found[0], found[1])
        self.assertNotEqual(found[0], found[2])
        self.assertNotEqual(*found[0])

    def test_one_that_is_repeated_is_as_long_as_one_pass(self):
        endless = samplers.RepeatSampler(data.SequentialSampler(TENSORS))
        self.assertEqual(feed(pytorch.DataLoader(TENSORS, 10, sampler=endless)).batches, 11)

    def test_epochs_stay_as_long_as_the_first(self):
        class Growing(data.Sampler):
            def set_epoch(self, epoch):
                self.epoch = epoch

            def __iter__(self):
                return iter([[self.epoch * 10 + i] for i in range((3, 5, 2)[self.epoch])])

        driven = feed(pytorch.DataLoader(TENSORS, batch_sampler=Growing()))
        with self.assertLogs("determined.pytorch", "WARNING") as said:
            self.assertEqual([sum(numbers(driven), []) for _ in range(3)], [[0, 1, 2], [10, 11, 12], [20, 21, 20]])
        self.assertIn("the sampler Growing returns 5 batches in epoch 1, but returned 3 before", said.output[0])
        self.assertEqual(len(said.output), 1)


class LetThrough(unittest.TestCase):
    """Loaders of PyTorch's."""

    def test_they_are_used_as_they_are(self):
        driven = feed(data.DataLoader(TENSORS, 10, shuffle=True), checks=False)
        self.assertEqual((driven.batches, driven.records), (11, 103))
        epochs = [numbers(driven) for _ in range(2)]
        self.assertNotEqual(*epochs)
        again = feed(data.DataLoader(TENSORS, 10, shuffle=True), checks=False)
        again.go_to(1, 4)
        self.assertEqual(numbers(again), epochs[1][4:])

    def test_one_without_a_length(self):
        class Stream(data.IterableDataset):
            def __iter__(self):
                return iter(range(10))

        driven = feed(data.DataLoader(Stream(), 4), checks=False)
        self.assertIsNone(driven.batches)
        self.assertIsNone(driven.records)
        self.assertEqual([len(batch) for batch in driven.epoch()], [4, 4, 2])
        self.assertEqual(driven.where(), (1, 0))


class BadInput(unittest.TestCase):
    def refused(self, kind, pattern, call, *args, **kwargs):
        with self.assertRaisesRegex(kind, pattern):
            call(*args, **kwargs)

    def test_what_is_no_loader(self):
        self.refused(TypeError, "the training data is a torch.utils.data.DataLoader.*expected a det.pytorch.DataLoader.*"
                     "disable_dataset_reproducibility_checks", feed, data.DataLoader(TENSORS, 10))
        self.refused(TypeError, "the validation data is of the type TensorDataset; expected a det.pytorch.DataLoader",
                     feed, TENSORS, training=False)

    def test_data_without_numbers(self):
        class Stream(data.IterableDataset):
            def __iter__(self):
                return iter(())

        self.refused(TypeError, "Stream is an IterableDataset.*__len__ and __getitem__, or context.experimental",
                     pytorch.DataLoader, Stream())
        self.refused(TypeError, "of the type generator, which has no __getitem__", pytorch.DataLoader, (i for i in range(3)))

    def test_no_data(self):
        empty = TensorDataset(ROWS[:0])
        self.assertEqual(list(pytorch.DataLoader(empty, 10)), [])
        self.refused(ValueError, "the training data is empty", feed, pytorch.DataLoader(empty, 10))
        self.refused(ValueError, "the validation data is empty", feed, pytorch.DataLoader([], 10), training=False)
        self.refused(ValueError, "the data set is empty", pytorch.DataLoader, empty, 10, shuffle=True)
        none = pytorch.DataLoader(TENSORS, 10, sampler=[])
        self.refused(ValueError, "or those that the sampler chose, cannot be shared by 1", feed, none)

    def test_too_little_data(self):
        self.refused(ValueError, "103 records are not enough for a batch of 60 on each of 2 processes, and drop_last=True", feed,
                     pytorch.DataLoader(TENSORS, 60, drop_last=True), 0, 2)
        self.refused(ValueError, "103 records.* cannot be shared by 104 processes", feed, pytorch.DataLoader(TENSORS, 1), 0, 104)
        self.refused(ValueError, "fewer batches than the 2 processes", feed, pytorch.DataLoader(TENSORS, batch_sampler=[[1]]), 0, 2)

    def test_arguments_that_contradict_each_other(self):
        self.refused(ValueError, "do not give batch_size, shuffle, sampler or drop_last with it", pytorch.DataLoader,
                     TENSORS, 10, batch_sampler=[[1]])
        self.refused(ValueError, "do not give shuffle=True with it", pytorch.DataLoader, TENSORS, sampler=[1], shuffle=True)
        for size in (0, -1, 1.5, True, "10"):
            self.refused(ValueError, "batch_size is .*; expected a whole number above 0", pytorch.DataLoader, TENSORS, size)

    def test_samplers_that_cannot_be_driven(self):
        once = pytorch.DataLoader(TENSORS, 10, sampler=Unsteady())
        self.refused(ValueError, "the sampler Unsteady returns another order when it is asked for the same epoch again.*set_epoch",
                     feed, once)
        self.assertEqual(feed(pytorch.DataLoader(TENSORS, 10, sampler=Unsteady()), checks=False).batches, 2)
        parted = data.DistributedSampler(TENSORS, num_replicas=2, rank=0)
        self.refused(ValueError, "DistributedSampler, but batches are already shared among the ranks", feed,
                     pytorch.DataLoader(TENSORS, 10, sampler=parted), 0, 2)

        class Endless(data.Sampler):
            def __iter__(self):
                while True:
                    yield 1

        self.refused(ValueError, "the sampler Endless returned more than 101030 batches and does not end", feed,
                     pytorch.DataLoader(TENSORS, 1, sampler=Endless()))

    def test_batches_of_uneven_structure(self):
        def last_is(odd, usual):
            loader = pytorch.DataLoader([usual, usual, odd], 3)
            return list(feed(loader).epoch())

        for odd, usual, told in (
            ({"x": 1}, {"x": 1, "y": 2}, "record 0 has the keys 'x', 'y', but record 2 has 'x'; make them alike, or give"),
            ((1, 2, 3), (1, 2), "record 0 has 2 parts, but record 2 has 3"),
            ({"x": (1, torch.ones(3))}, {"x": (1, torch.ones(2))}, r"\['x'\]\[1\] of record 0 has the shape \(2,\), but "
             r"\['x'\]\[1\] of record 2 has \(3,\)"),
            ("a", 1, "record 0 is of the type int, but record 2 is of str"),
        ):
            self.refused(ValueError, told, last_is, odd, usual)
        named = collections.namedtuple("named", "x y")
        self.assertEqual(last_is(named(1, 2), named(1, 2))[0].y.tolist(), [2, 2, 2])


if __name__ == "__main__":
    unittest.main()
