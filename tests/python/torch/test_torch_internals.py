# SPDX-License-Identifier: Apache-2.0
"""The undocumented parts of PyTorch exist, and only one module uses them."""
import pathlib
import re
import unittest

import torch
from torch.nn.parallel import DistributedDataParallel
from torch.utils import data
from torch.utils.data._utils import pin_memory, signal_handling

import determined.pytorch
from determined.pytorch import _torch_internals

# Names of PyTorch's that begin with an underscore.
_INTERNALS = re.compile(r"(?<!py)torch\.[\w.]*\b_(?!_)\w+|\._(?:sync_buffers|workers|worker_pids_set|iterator|utils)\b")


class Private(unittest.TestCase):
    def test_pytorch_still_has_it(self):
        for thing, names in (
            (torch, ["_foreach_div_"]),
            (DistributedDataParallel, ["_sync_buffers"]),
            (pin_memory, ["pin_memory"]),
            (signal_handling, ["_set_worker_pids", "_remove_worker_pids"]),
        ):
            for name in names:
                self.assertTrue(callable(getattr(thing, name, None)), name)

    def test_gradients_are_divided(self):
        grads = [torch.full((2,), 6.0), torch.tensor(3.0)]
        _torch_internals.divide(grads, 3)
        self.assertEqual([each.tolist() for each in grads], [[2.0, 2.0], 1.0])
        _torch_internals.divide([], 3)

    def test_workers_of_a_loader(self):
        loader = data.DataLoader(range(4), num_workers=1, persistent_workers=True)
        batches = iter(loader)
        try:
            workers = _torch_internals.workers(batches)
            self.assertTrue(all(worker.is_alive() for worker in workers))
            _torch_internals.unwatch(batches)
            _torch_internals.watch(batches, tuple(worker.pid for worker in workers))
            self.assertTrue(batches._worker_pids_set)
            _torch_internals.unwatch(batches)
        finally:
            del batches
            _torch_internals.end_workers(loader)
        self.assertFalse(any(worker.is_alive() for worker in workers))

    def test_nobody_else_uses_it(self):
        for path in pathlib.Path(determined.pytorch.__file__).parent.glob("*.py"):
            if path.name != "_torch_internals.py":
                self.assertEqual(_INTERNALS.findall(path.read_text()), [], path.name)


if __name__ == "__main__":
    unittest.main()
