# SPDX-License-Identifier: Apache-2.0
"""The rank of this process, the number of processes, and messages between them.

Messages are pickles, sent over libdet's control plane (_det.Distributed): one connection from every process to
rank 0, and one star of the same kind on every machine. It admits only the processes of this training, which
pickles require, and tells all ranks which rank died.
"""
import json
import os
import pickle
from typing import Any, List, Optional, Tuple

from determined import _det, errors

# enum det_ranks_from
_GIVEN = 0
_TORCH = 1
_LAUNCHER = 3
_ANY = 4

_PORT = "INTER_TRAIN_PROCESS_COMM_PORT_1"
_DEFAULT_PORT = 12360


def _check_port(name: str, port: Optional[int]) -> None:
    if port is None:
        return
    if isinstance(port, bool) or not isinstance(port, int):
        raise TypeError(f"{name} is {port!r}; expected a port")
    if not 1 <= port <= 65535:
        raise ValueError(f"{name} is {port}; expected 1 to 65535")


def _port(pub_port: Optional[int], pull_port: Optional[int], offset: int) -> int:
    """The port of rank 0; 0: the port from the environment. One connection serves both directions, so `pull_port`
    is checked but not needed."""
    _check_port("pub_port", pub_port)
    _check_port("pull_port", pull_port)
    if pub_port is None and not offset:
        return 0
    text = os.environ.get(_PORT)
    try:
        port = pub_port or int(text or _DEFAULT_PORT)
    except ValueError:
        raise ValueError(f"{_PORT} is '{text}'; expected a port") from None
    _check_port("the port with its port_offset", port + offset)
    return port + offset


def _sentence(error: BaseException) -> str:
    """The sentence for the other ranks; file names in it need not be text."""
    name = type(error).__name__
    text = f"{name}: {error}" if str(error) else name
    return text.encode("utf-8", "replace").decode().replace("\0", " ")


class DistributedContext:
    """The place of this process among those that train together.

    Making one joins the others, and returns when all ranks are there. From then on every process calls the same
    methods in the same order. If one dies, leaves or calls another method, all others get an exception that
    names it, and no process waits forever.

    Ranks of one machine talk through a Unix socket that only processes of the same user can open. Otherwise,
    and with `force_tcp`, they need a secret. A task has one; outside of tasks it is `secret` or
    DET_DISTRIBUTED_SECRET, the same for all ranks.
    """

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
        secret: Optional[str] = None,
    ) -> None:
        self._join(
            _det.distributed(
                _GIVEN,
                (rank, size, local_rank, local_size, cross_rank, cross_size),
                chief_ip,
                _port(pub_port, pull_port, port_offset),
                tcp=force_tcp,
                secret=secret,
            )
        )

    # TensorFlow's workers treat a worker that ends before them as crashed.
    _leaves_together = False

    def _join(self, group: _det.Distributed) -> None:
        self._group = group
        (
            self.rank,
            self.size,
            self.local_rank,
            self.local_size,
            self.cross_rank,
            self.cross_size,
        ) = group.ranks

    # ---- constructors

    @classmethod
    def _alone(cls) -> "DistributedContext":
        return cls(rank=0, size=1, local_rank=0, local_size=1, cross_rank=0, cross_size=1)

    @classmethod
    def _from_environment(cls, launcher: int, chief_ip: Optional[str]) -> "DistributedContext":
        self = cls.__new__(cls)
        self._join(_det.distributed(launcher, chief=chief_ip))
        return self

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
            chief_ip=chief_ip,
        )

    @classmethod
    def from_deepspeed(cls, chief_ip: Optional[str] = None) -> "DistributedContext":
        """From RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_SIZE, CROSS_RANK and CROSS_SIZE, set by DeepSpeed's launcher
        and `det launch mpi`."""
        return cls._from_environment(_LAUNCHER, chief_ip)

    @classmethod
    def from_torch_distributed(cls, chief_ip: Optional[str] = None) -> "DistributedContext":
        """From the variables that `torch.distributed.run` sets."""
        return cls._from_environment(_TORCH, chief_ip)

    @classmethod
    def _from_any(cls) -> "DistributedContext":
        """From the environment of any known launcher; without one, a group of one."""
        return cls._from_environment(_ANY, None)

    @classmethod
    def _from_tf_config(cls) -> "DistributedContext":
        workers, index = _tf_config()
        count = max(len(workers), 1)
        chief_ip = None if os.environ.get("DET_CHIEF_IP") or not workers else workers[0]
        self = cls(
            rank=index,
            size=count,
            local_rank=0,
            local_size=1,
            cross_rank=index,
            cross_size=count,
            chief_ip=chief_ip,
        )
        self._leaves_together = count > 1
        return self

    @classmethod
    def from_tf_config(cls) -> Tuple["DistributedContext", Any]:
        """From TF_CONFIG, as `det launch tensorflow` sets it: the context, with one process per node, and the
        strategy of TensorFlow that fits it."""
        from determined.keras import _strategy

        context = cls._from_tf_config()
        try:
            return context, _strategy.choose(context.size)
        except BaseException:
            context.close()
            raise

    # ---- what is known

    def get_rank(self) -> int:
        return self.rank

    def get_local_rank(self) -> int:
        return self.local_rank

    def get_size(self) -> int:
        return self.size

    def get_num_agents(self) -> int:
        return self.cross_size

    def shard_batch_size(self, global_batch_size: int) -> int:
        """This process's part of a shared batch; the first processes take one more if it cannot be shared evenly."""
        size = global_batch_size
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise ValueError(f"global_batch_size is {size!r}; expected a whole number of at least 1")
        if size < self.size:
            raise ValueError(f"global_batch_size is {size}, which is less than the {self.size} processes")
        return size // self.size + (self.rank < size % self.size)

    # ---- messages

    def _gather(self, stuff: Any, size: int, local: bool) -> Optional[List[Any]]:
        if size == 1:
            return [stuff]
        parts = self._group.gather(pickle.dumps(stuff), local)
        return None if parts is None else [pickle.loads(part) for part in parts]

    def _allgather(self, stuff: Any, size: int, local: bool) -> List[Any]:
        if size == 1:
            return [stuff]
        return [pickle.loads(part) for part in self._group.allgather(pickle.dumps(stuff), local)]

    def _broadcast(self, stuff: Any, rank: int, size: int, local: bool) -> Any:
        if size == 1:
            return stuff
        if rank == 0:
            self._group.broadcast(pickle.dumps(stuff), local)
            return stuff
        return pickle.loads(self._group.broadcast(None, local))

    def gather(self, stuff: Any) -> Optional[List[Any]]:
        """The objects of all processes, at rank 0; None elsewhere."""
        return self._gather(stuff, self.size, False)

    def gather_local(self, stuff: Any) -> Optional[List[Any]]:
        """The same among the processes of this machine."""
        return self._gather(stuff, self.local_size, True)

    def allgather(self, stuff: Any) -> List[Any]:
        """The objects of all processes, on every rank."""
        return self._allgather(stuff, self.size, False)

    def allgather_local(self, stuff: Any) -> List[Any]:
        """The same among the processes of this machine."""
        return self._allgather(stuff, self.local_size, True)

    def broadcast(self, stuff: Any) -> Any:
        """The object of rank 0, on every rank."""
        return self._broadcast(stuff, self.rank, self.size, False)

    def broadcast_local(self, stuff: Any = None) -> Any:
        """The object of the first process of this machine, in all its processes."""
        return self._broadcast(stuff, self.local_rank, self.local_size, True)

    def _fail(self, error: BaseException) -> None:
        """Tells the other ranks why this process cannot continue."""
        self._leaves_together = False
        if self.size > 1:
            try:
                self._group.fail(_sentence(error))
            except errors.StateError:
                pass  # it was closed

    def close(self) -> None:
        """Leaves the group. The other ranks learn it at their next call."""
        if self._leaves_together:
            self._leaves_together = False
            try:
                self._group.allgather(b"", False)
            except errors.DetError:
                pass  # another rank has left without this call
        self._group.close()

    def __enter__(self) -> "DistributedContext":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def _tf_config() -> Tuple[List[str], int]:
    """The hosts of the workers, the chief first, and the index of this one."""
    text = os.environ.get("TF_CONFIG")
    if not text:
        return [], 0
    try:
        config = json.loads(text)
        chiefs = list(config["cluster"].get("chief", []))
        places = chiefs + list(config["cluster"]["worker"])
        index = int(config["task"]["index"])
        if config["task"].get("type") == "worker":
            index += len(chiefs)
        return [str(place).rsplit(":", 1)[0] for place in places], index
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ValueError(
            f"TF_CONFIG is '{text:.200}'; expected JSON with cluster.worker and task.index"
        ) from None
