# SPDX-License-Identifier: Apache-2.0
"""Who of how many processes this is, and what they say to each other.

Everything that travels goes through a *plane*: an object with gather(), allgather() and
broadcast(), for all processes and for those of one machine.  A single process has one of its
own; the one for several comes with libdet's control plane, and is put in at _make_plane().
"""
import json
import os
from typing import Any, List, Optional, Tuple

from determined import errors


class _Alone:
    """The plane of a single process."""

    def gather(self, stuff: Any) -> List[Any]:
        return [stuff]

    allgather = gather

    def broadcast(self, stuff: Any) -> Any:
        return stuff

    def close(self) -> None:
        pass


def _make_plane(size: int, what: str) -> _Alone:
    if size == 1:
        return _Alone()
    raise errors.UnsupportedError(
        f"{what} is {size}: several processes in one trial are not built yet; train with one "
        "process, on one slot"
    )


def _variable(name: str) -> int:
    text = os.environ.get(name)
    if text is None:
        raise ValueError(f"{name} is not set: was this process started by a launcher?")
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{name} is '{text}'; expected a whole number") from None


class DistributedContext:
    """The place of this process among those that train together."""

    def __init__(
        self,
        *,
        rank: int,
        size: int,
        local_rank: int,
        local_size: int,
        cross_rank: int,
        cross_size: int,
        chief_ip: Optional[str] = None,
        pub_port: Optional[int] = None,
        pull_port: Optional[int] = None,
        port_offset: int = 0,
        force_tcp: bool = False,
    ) -> None:
        for name, low, count in (
            ("rank", rank, size),
            ("local_rank", local_rank, local_size),
            ("cross_rank", cross_rank, cross_size),
        ):
            if not 0 <= low < count:
                raise ValueError(f"{name} is {low} of {count}; expected 0 to {count - 1}")
        if local_size * cross_size != size:
            raise ValueError(
                f"{cross_size} machines of {local_size} processes each are not {size} processes"
            )
        self.rank = rank
        self.size = size
        self.local_rank = local_rank
        self.local_size = local_size
        self.cross_rank = cross_rank
        self.cross_size = cross_size
        self._plane = _make_plane(size, "size")
        self._local_plane = _make_plane(local_size, "local_size")

    # ---- ways to be made

    @classmethod
    def _alone(cls) -> "DistributedContext":
        return cls(rank=0, size=1, local_rank=0, local_size=1, cross_rank=0, cross_size=1)

    @classmethod
    def from_horovod(cls, hvd: Any, chief_ip: Optional[str] = None) -> "DistributedContext":
        """From `horovod.torch`, `horovod.tensorflow`, ... after its init()."""
        return cls(
            rank=hvd.rank(),
            size=hvd.size(),
            local_rank=hvd.local_rank(),
            local_size=hvd.local_size(),
            cross_rank=hvd.cross_rank(),
            cross_size=hvd.cross_size(),
            chief_ip=chief_ip or os.environ.get("DET_CHIEF_IP"),
        )

    @classmethod
    def from_deepspeed(cls, chief_ip: Optional[str] = None) -> "DistributedContext":
        """From the variables that DeepSpeed's launcher sets."""
        return cls(
            rank=_variable("RANK"),
            size=_variable("WORLD_SIZE"),
            local_rank=_variable("LOCAL_RANK"),
            local_size=_variable("LOCAL_SIZE"),
            cross_rank=_variable("CROSS_RANK"),
            cross_size=_variable("CROSS_SIZE"),
            chief_ip=chief_ip or os.environ.get("DET_CHIEF_IP"),
        )

    @classmethod
    def from_torch_distributed(cls, chief_ip: Optional[str] = None) -> "DistributedContext":
        """From the variables that `torch.distributed.run` sets."""
        return cls(
            rank=_variable("RANK"),
            size=_variable("WORLD_SIZE"),
            local_rank=_variable("LOCAL_RANK"),
            local_size=_variable("LOCAL_WORLD_SIZE"),
            cross_rank=_variable("GROUP_RANK"),
            cross_size=_variable("GROUP_WORLD_SIZE"),
            chief_ip=chief_ip or os.environ.get("DET_CHIEF_IP"),
        )

    @classmethod
    def from_tf_config(cls) -> Tuple["DistributedContext", Any]:
        """From TF_CONFIG: the context, and the strategy of TensorFlow that fits it."""
        workers, index = 1, 0
        text = os.environ.get("TF_CONFIG")
        if text:
            try:
                config = json.loads(text)
                workers = len(config["cluster"]["worker"])
                index = int(config["task"]["index"])
            except (ValueError, KeyError, TypeError):
                raise ValueError(
                    f"TF_CONFIG is '{text:.200}'; expected JSON with cluster.worker and task.index"
                ) from None
        context = cls(
            rank=index,
            size=workers,
            local_rank=0,
            local_size=1,
            cross_rank=index,
            cross_size=workers,
            chief_ip=os.environ.get("DET_CHIEF_IP"),
        )
        return context, _strategy(workers)

    # ---- what is known

    def get_rank(self) -> int:
        return self.rank

    def get_local_rank(self) -> int:
        return self.local_rank

    def get_size(self) -> int:
        return self.size

    def get_num_agents(self) -> int:
        return self.cross_size

    # ---- what travels

    def gather(self, stuff: Any) -> Optional[List[Any]]:
        """What every process has, at rank 0; None elsewhere."""
        return self._plane.gather(stuff)

    def gather_local(self, stuff: Any) -> Optional[List[Any]]:
        """The same among the processes of this machine."""
        return self._local_plane.gather(stuff)

    def allgather(self, stuff: Any) -> List[Any]:
        """What every process has, everywhere."""
        return self._plane.allgather(stuff)

    def allgather_local(self, stuff: Any) -> List[Any]:
        """The same among the processes of this machine."""
        return self._local_plane.allgather(stuff)

    def broadcast(self, stuff: Any) -> Any:
        """What rank 0 has, everywhere."""
        return self._plane.broadcast(stuff)

    def broadcast_local(self, stuff: Any = None) -> Any:
        """What the first process of this machine has, in all of them."""
        return self._local_plane.broadcast(stuff)

    def close(self) -> None:
        self._plane.close()
        self._local_plane.close()

    def __enter__(self) -> "DistributedContext":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def _strategy(workers: int) -> Any:
    import tensorflow as tf  # type: ignore[import-untyped,import-not-found,unused-ignore]

    if workers > 1:
        return tf.distribute.MultiWorkerMirroredStrategy()
    if len(tf.config.list_physical_devices("GPU")) > 1:
        return tf.distribute.MirroredStrategy()
    return tf.distribute.get_strategy()
