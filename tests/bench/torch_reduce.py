# SPDX-License-Identifier: Apache-2.0
"""One of two ranks: custom reducers beside gathering by pickled objects.

    det launch torch_distributed -n 2 -- python3 torch_reduce.py VALUES ROUNDS

Rank 0 prints a line of milliseconds for each round: ours, by DistributedContext.gather(), by
torch.distributed.gather_object(), all for the same reducer, from what per_slot_reduce() gives to the metric.  `tensors`:
the values lie in tensors of 100, as updates of batches leave them.  `floats`: each is a Python float.
"""
import sys
import time

BATCH = 100


def ways(distributed, reducer, parts, join):
    """Milliseconds of each way, and that they agree."""
    import torch.distributed as dist

    from determined.pytorch._reducer import gather

    def pickled():
        return distributed.gather(parts)

    def objects():
        into = [None] * distributed.size if distributed.rank == 0 else None
        dist.gather_object(parts, into)
        return into

    found, times = [], []
    for way in (lambda: gather(distributed, parts), pickled, objects):
        distributed.allgather(None)  # begin together
        begun = time.perf_counter()
        everyones = way()
        found.append(None if everyones is None else reducer([join(each) for each in everyones]))
        times.append((time.perf_counter() - begun) * 1e3)
    assert found[0] == found[1] == found[2], found
    return times


def rank(values, rounds):
    import torch

    from determined import _launch
    from determined.pytorch import _ddp

    with _launch.distributed() as distributed:
        ranks = _ddp.join(distributed)
        mine = values // distributed.size
        torch.manual_seed(distributed.rank)
        tensors = [torch.randn(BATCH) for _ in range(mine // BATCH)]
        floats = torch.cat(tensors).tolist()
        for name, reducer, parts, join in (
            ("tensors", lambda all_of: float(torch.cat(all_of).max()), tensors, torch.cat),
            ("floats", lambda all_of: max(map(max, all_of)), floats, lambda each: each),
        ):
            for _ in range(rounds):
                times = ways(distributed, reducer, parts, join)
                if distributed.rank == 0:
                    print(name, *(f"{each:.3f}" for each in times), flush=True)
        ranks.leave()


if __name__ == "__main__":
    rank(int(sys.argv[1]), int(sys.argv[2]))
