# SPDX-License-Identifier: Apache-2.0
"""Worker processes of det.pytorch.DataLoader: their random numbers, and how they die."""
import os
import pickle
import random
import signal
import threading
import time
import unittest

import numpy as np
import torch
from torch.utils import data

from determined import pytorch
from determined.pytorch import _data, _data_workers

torch.set_num_threads(1)


class Drawing(data.Dataset):
    def __len__(self):
        return 43

    def __getitem__(self, index):
        return torch.tensor([index, random.random(), np.random.rand(), float(torch.rand(()))], dtype=torch.float64)


class Failing(Drawing):
    """Record 20 calls the given function."""

    def __init__(self, how):
        self.how = how

    def __getitem__(self, index):
        if index == 20:
            self.how()
        return torch.tensor(index)


def feed(workers, dataset=None, rank=0, size=1, **more):
    loader = pytorch.DataLoader(dataset or Drawing(), 5, shuffle=dataset is None, num_workers=workers, **more)
    return _data.make_feed(loader, seed=5, rank=rank, size=size)


def rest(driven):
    return [batch.tolist() for batch in driven.epoch()]


def same_for_each(worker):
    assert isinstance(data.get_worker_info().dataset, Drawing)
    data.get_worker_info().dataset.worker = worker


class Randomness(unittest.TestCase):
    def test_what_a_batch_draws_follows_from_its_place(self):
        torch.manual_seed(1)
        expected, state = None, torch.get_rng_state()
        for workers, more in ((1, {}), (2, {"persistent_workers": True})):
            driven = feed(workers, **more)
            epochs = [rest(driven), rest(driven)]
            expected = expected or epochs
            self.assertEqual(epochs, expected)
            driven.close()
        self.assertTrue(torch.equal(state, torch.get_rng_state()))
        drawn = [tuple(record[1:]) for epoch in expected for batch in epoch for record in batch]
        self.assertEqual(len(set(drawn)), 2 * 43)  # nothing twice

        driven = feed(2, persistent_workers=True)
        begun = driven.epoch()
        for _ in range(3):
            next(begun)
        self.assertEqual(rest(driven), expected[0][3:])  # batches that were made ahead are made again
        driven.go_to(1, 7)
        self.assertEqual(rest(driven), expected[1][7:])
        driven.close()
        torch.rand(1), random.random()
        driven = feed(1)
        driven.go_to(1, 4)
        self.assertEqual(rest(driven), expected[1][4:])
        driven.close()

    def test_ranks_draw_apart(self):
        alone = feed(1)
        batches = rest(alone)
        self.assertEqual([rest(feed(1, rank=rank, size=2))[:4] for rank in range(2)], [batches[0:8:2], batches[1:8:2]])

    def test_workers_know_who_they_are(self):
        driven = feed(1, worker_init_fn=same_for_each, prefetch_factor=3)
        self.assertEqual(len(rest(driven)), 9)

    def test_what_workers_get_can_be_sent_to_a_process_that_was_not_forked(self):
        driven = feed(1, worker_init_fn=same_for_each, multiprocessing_context="spawn")
        inner = driven._source._inner
        sent = pickle.loads(pickle.dumps((inner.dataset, inner.collate_fn, inner.worker_init_fn)))
        self.assertEqual(sent[0][(7, [3])].tolist(), inner.dataset[(7, [3])].tolist())


class Ahead(unittest.TestCase):
    """The thread that gathers arrays."""

    def test_it_is_so_many_batches_ahead_and_no_more(self):
        made = []
        batches = _data_workers.ahead(lambda item: made.append(item) or item, iter(range(100)), 4)
        self.assertEqual(next(batches), 0)
        while len(made) < 5:
            time.sleep(0.001)
        self.assertEqual(made, [0, 1, 2, 3, 4])
        self.assertEqual(list(batches), list(range(1, 100)))

    def test_errors_come_in_their_place(self):
        batches = _data_workers.ahead(lambda item: 1 // item, iter([1, 1, 0, 1]), 8)
        self.assertEqual([next(batches), next(batches)], [1, 1])
        self.assertRaises(ZeroDivisionError, next, batches)
        self.assertEqual(list(batches), [])

    def test_the_thread_ends_when_nobody_wants_more(self):
        before = set(threading.enumerate())
        made = []
        batches = _data_workers.ahead(lambda item: made.append(item) or item, iter(range(10**9)), 2)
        self.assertEqual(next(batches), 0)
        threads = set(threading.enumerate()) - before
        self.assertEqual([thread.name for thread in threads], ["det-data"])

        batches.close()

        self.assertFalse(threads.pop().is_alive())
        self.assertLessEqual(len(made), 3)  # the batch that was taken, and at most two ahead of it
        self.assertRaises(StopIteration, next, batches)


class BadInput(unittest.TestCase):
    def test_a_worker_that_was_killed_is_told_by_name(self):
        before = set(torch.multiprocessing.active_children())
        driven = feed(2, Drawing())
        begun = driven.epoch()
        next(begun)
        worker = (set(torch.multiprocessing.active_children()) - before).pop()
        os.kill(worker.pid, signal.SIGKILL)
        os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOWAIT)
        with self.assertRaisesRegex(
            RuntimeError,
            rf"worker [01] of 2 of the data loader \(process {worker.pid}\) was killed by signal 9 \(Killed\); perhaps the memory "
            "is too small.*num_workers=0",
        ):
            list(begun)
        driven.close()

    def test_a_worker_that_ends_itself(self):
        driven = feed(1, Failing(lambda: os._exit(3)))
        with self.assertRaisesRegex(RuntimeError, r"worker 0 of 1 .* ended with exit code 3; its output may say why"):
            rest(driven)

    def test_a_worker_that_takes_too_long(self):
        driven = feed(1, Failing(lambda: time.sleep(1.5)), timeout=0.5)
        with self.assertRaisesRegex(RuntimeError, r"no batch came from the 1 workers .* within 0.5 seconds \(timeout\)"):
            rest(driven)

    def test_what_a_data_set_raises_comes_here(self):
        def how():
            raise KeyError("no such file")

        with self.assertRaisesRegex(KeyError, "no such file"):
            rest(feed(1, Failing(how)))

    def test_uneven_batches_are_told_as_without_workers(self):
        driven = _data.make_feed(pytorch.DataLoader([{"x": 1}, {"y": 1}], 2, num_workers=1), seed=1)
        with self.assertRaisesRegex(ValueError, "^the records of a batch differ.* record 0 has the keys 'x', but record 1 has 'y'"):
            list(driven.epoch())


if __name__ == "__main__":
    unittest.main()
