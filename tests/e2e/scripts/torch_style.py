# SPDX-License-Identifier: Apache-2.0
# Several processes with the variables of torchrun; without it they are started here, as the
# launcher would.  Collectives, a sharded checkpoint, WorkersAskChief, every rank restores.
import os
import subprocess
import sys

import determined as det

SIZE = 3


def launch() -> int:
    workers = []
    for rank in range(SIZE):
        env = {
            **os.environ,
            "RANK": str(rank),
            "WORLD_SIZE": str(SIZE),
            "LOCAL_RANK": str(rank),
            "LOCAL_WORLD_SIZE": str(SIZE),
            "GROUP_RANK": "0",
            "GROUP_WORLD_SIZE": "1",
            "DET_CHIEF_IP": "127.0.0.1",
        }
        workers.append(subprocess.Popen([sys.executable, __file__], env=env))
    return max(worker.wait() for worker in workers)


def main(core_context: det.core.Context) -> None:
    dist = core_context.distributed
    rank, size = dist.get_rank(), dist.get_size()
    assert (dist.rank, dist.local_rank, dist.cross_rank) == (rank, dist.get_local_rank(), 0)
    assert dist.get_num_agents() == 1
    steps = 0
    for steps in range(1, 11):
        shard_loss = (rank + 1) / steps
        losses = dist.gather(shard_loss)
        if rank == 0:
            assert losses == [(r + 1) / steps for r in range(size)]
            core_context.train.report_training_metrics(steps, {"loss": sum(losses) / size})
        else:
            assert losses is None
        if core_context.preempt.should_preempt():
            break
    assert dist.allgather({"rank": rank}) == [{"rank": r} for r in range(size)]
    assert dist.allgather_local(rank) == list(range(size))
    assert dist.broadcast("from the chief" if rank == 0 else None) == "from the chief"
    assert dist.broadcast_local(rank) == 0
    with core_context.checkpoint.store_path({"steps_completed": steps}, shard=True) as (path, storage_id):
        (path / f"rank_{rank}.txt").write_text(str(rank))
    everybody = dist.allgather(storage_id)
    assert everybody == [storage_id] * size, everybody
    with core_context.checkpoint.restore_path(storage_id) as path:
        assert sorted(p.name for p in path.glob("rank_*")) == [f"rank_{r}.txt" for r in range(size)]
    if rank == 0:
        core_context.train.report_validation_metrics(steps, {"loss": 0.5})
        print(f"{size} processes trained {steps} steps")


if __name__ == "__main__":
    if "RANK" not in os.environ:
        sys.exit(launch())
    distributed = det.core.DistributedContext.from_torch_distributed()
    with det.core.init(distributed=distributed) as core_context:
        main(core_context)
