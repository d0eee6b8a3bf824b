# SPDX-License-Identifier: Apache-2.0
"""One model on several ranks: torch.distributed's process group, and DistributedDataParallel.

    ranks = join(distributed)     the group, and the device of this process; does nothing for one rank
    model = ranks.wrap(model)     weights of rank 0 everywhere, gradients averaged by backward()
    with ranks.no_sync():         a batch whose gradients are kept for later ones
    with ranks.evaluating():      forward passes that do not wait for the other ranks
    with ranks.guard():           the rank that failed is reported before the ranks that it broke
    ranks.leave()

The ranks are already connected when the group is made (core's DistributedContext), and on one machine they
agree on its port there: rank 0 listens on loopback, on a port chosen by the kernel, so parallel trainings do
not collide. Several machines use MASTER_ADDR and MASTER_PORT, as torchrun and `det launch torch_distributed`
set them.

Buffers (the means of BatchNorm) are those of rank 0 at the beginning of every forward pass in training, which
is PyTorch's own rule, and at the beginning of an evaluation. During an evaluation they stay, so ranks may have
different numbers of batches.
"""
import atexit
import contextlib
import datetime
import logging
import os
import socket
import sys
import time
from typing import Any, Dict, Iterator, List, Optional, Tuple

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel

from determined.pytorch import _torch_internals

logger = logging.getLogger("determined.pytorch")

TIMEOUT_S = 1800.0  # limit for one operation: another rank may be writing a checkpoint
STAND_BACK_S = 10.0  # within this time the launcher ends a rank that lost its peer
_BROKEN = ("gloo", "nccl", "connection closed by peer", "connection reset by peer", "broken pipe")
_UNUSED = "Expected to have finished reduction in the prior iteration"


class _Parallel(DistributedDataParallel):
    """Other attributes come from the model: `self.model.encode(x)` works on one slot and on two."""

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == "module":
                raise
            return getattr(super().__getattr__("module"), name)


def plain(model: nn.Module) -> nn.Module:
    """The model itself: its state has the same names on one slot and on several."""
    return model.module if isinstance(model, DistributedDataParallel) else model  # type: ignore[no-any-return]


# ---- the device


def device(local_rank: int, local_size: int) -> torch.device:
    """The device of this process: a GPU of its own, or without GPUs the processor."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    count = torch.cuda.device_count()
    if local_rank >= count:
        raise RuntimeError(
            f"process {local_rank} of {local_size} on this machine has no GPU: {count} can be seen "
            f"(CUDA_VISIBLE_DEVICES is {os.environ.get('CUDA_VISIBLE_DEVICES', 'not set')!r}); ask for as many "
            "slots as there are GPUs, or set CUDA_VISIBLE_DEVICES= to train on processors"
        )
    torch.cuda.set_device(local_rank)
    return torch.device("cuda", local_rank)


# ---- the group


def _store(distributed: Any, timeout: datetime.timedelta) -> Tuple[Optional[dist.Store], Optional[str]]:
    """Where the ranks find each other: on one machine our own store; otherwise by environment."""
    if distributed.cross_size > 1:
        return None, "env://"
    port = 0
    listener = None
    if distributed.rank == 0:
        listener = socket.create_server(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    port = distributed.broadcast(port)
    store = dist.TCPStore(
        "127.0.0.1",
        port,
        distributed.size,
        distributed.rank == 0,
        timeout,
        wait_for_workers=False,
        master_listen_fd=None if listener is None else listener.detach(),
    )
    return store, None


def _stay_inside(distributed: Any) -> None:
    """Ranks of one machine talk over loopback, whatever its host name resolves to."""
    if distributed.cross_size == 1 and "lo" in (name for _, name in socket.if_nameindex()):
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")


def _open(distributed: Any, backend: str, timeout_s: float) -> None:
    timeout = datetime.timedelta(seconds=timeout_s)
    _stay_inside(distributed)
    try:
        store, method = _store(distributed, timeout)
        dist.init_process_group(
            backend,
            init_method=method,
            store=store,
            rank=distributed.rank,
            world_size=distributed.size,
            timeout=timeout,
        )
    except (RuntimeError, ValueError) as error:
        where = "on this machine"
        if distributed.cross_size > 1:
            where = f"at {os.environ.get('MASTER_ADDR')}:{os.environ.get('MASTER_PORT')} (MASTER_ADDR, MASTER_PORT)"
        raise RuntimeError(
            f"rank {distributed.rank} could not reach the other {distributed.size - 1} processes of this training "
            f"{where} within {timeout_s:g} seconds: {error}"
        ) from error


class Ranks:
    """The processes that train one model, and the device of this one."""

    def __init__(self, distributed: Any, timeout_s: float = TIMEOUT_S) -> None:
        self.distributed = distributed
        self.rank: int = distributed.rank
        self.size: int = distributed.size
        self.device = device(distributed.local_rank, distributed.local_size)
        self._owns = False
        self._models: List[DistributedDataParallel] = []
        self._compressed: List[int] = []
        self._has_told = False
        if self.size > 1:
            self._join(timeout_s)

    @property
    def is_distributed(self) -> bool:
        return self.size > 1

    def _join(self, timeout_s: float) -> None:
        if dist.is_initialized():  # by the user
            if (dist.get_rank(), dist.get_world_size()) != (self.rank, self.size):
                raise RuntimeError(
                    f"torch.distributed was initialized as rank {dist.get_rank()} of {dist.get_world_size()}, but "
                    f"this process is rank {self.rank} of {self.size}: leave it to det.pytorch.init()"
                )
            return
        backend = "cpu:gloo,cuda:nccl" if self.device.type == "cuda" else "gloo"
        _open(self.distributed, backend, timeout_s)
        self._owns = True
        atexit.register(self.leave)

    def leave(self) -> None:
        """Ends the group; a group of the user's stays."""
        atexit.unregister(self.leave)
        fails = sys.exc_info()[0] is not None
        # NCCL would wait for operations that other ranks never join; the end of the process ends them.
        if self._owns and dist.is_initialized() and not (fails and self.device.type == "cuda"):
            dist.destroy_process_group()
        self._owns = False
        self._models = []

    # ---- models

    def wrap(self, model: nn.Module) -> nn.Module:
        """The model on this device and, with several ranks, synchronised with them. A model in a
        DistributedDataParallel of the user's (find_unused_parameters, ...) stays as it is."""
        if isinstance(model, DistributedDataParallel):
            self._models.append(model)
            return model
        model = model.to(self.device)
        if self.size == 1:
            return model
        if not any(each.requires_grad for each in model.parameters()):
            self._take_from_first(model)
            return model
        ids = [self.device.index] if self.device.type == "cuda" else None
        wrapped = _Parallel(model, device_ids=ids)
        self._models.append(wrapped)
        return wrapped

    def _take_from_first(self, model: nn.Module) -> None:
        """PyTorch does not synchronise parameters that are not trained, but they must be equal, too."""
        with torch.no_grad():
            for each in (*model.parameters(), *model.buffers()):
                dist.broadcast(each.data, 0)

    def compress(self, optimizer: torch.optim.Optimizer) -> None:
        """Sends the gradients of the optimizer's models as float16."""
        own = {id(each) for group in optimizer.param_groups for each in group["params"]}
        for model in self._models:
            if id(model) not in self._compressed and any(id(each) in own for each in model.parameters()):
                model.register_comm_hook(None, default_hooks.fp16_compress_hook)
                self._compressed.append(id(model))

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Keeps the gradients of the batches inside of it on this rank. The first batch outside adds its own, and
        the sum is averaged over the ranks."""
        with contextlib.ExitStack() as stack:
            for model in self._models:
                stack.enter_context(model.no_sync())
            yield

    @contextlib.contextmanager
    def evaluating(self) -> Iterator[None]:
        """Forward passes that do not wait for other ranks; all ranks enter together, and with the same weights."""
        self._look_for_difference()
        before = [_torch_internals.sync_buffers(model) for model in self._models]
        for model in self._models:
            _torch_internals.set_sync_in_forward(model, False)
        try:
            yield
        finally:
            for model, was in zip(self._models, before):
                _torch_internals.set_sync_in_forward(model, was)

    def _look_for_difference(self) -> None:
        """Warns once if weights differ between ranks: some methods intend it, most do not."""
        if self._models and not self._has_told:
            sentence = self.difference()
            self._has_told = sentence is not None
            if sentence is not None and self.rank == 0:
                logger.warning("%s", sentence)

    def difference(self) -> Optional[str]:
        """A sentence about the first weight that differs between ranks; None if all are equal. All ranks call it."""
        if self.size == 1:
            return None
        mine = {
            f"model {i}: {name}": sums
            for i, model in enumerate(self._models)
            for name, sums in _fingerprint(plain(model)).items()
        }
        everyones: List[Dict[str, Any]] = self.distributed.allgather(mine)
        for rank, theirs in enumerate(everyones):
            for name, sums in everyones[0].items():
                if theirs.get(name) != sums:
                    return (
                        f"ranks 0 and {rank} have different weights ({name}): a checkpoint holds those of rank 0; do "
                        "they take the same steps, with gradients from backward() only?"
                    )
        return None

    # ---- failures

    @contextlib.contextmanager
    def guard(self) -> Iterator[None]:
        """Around a training. A rank whose peer has gone waits a moment before it fails itself: the launcher ends
        it, and the last error in the log is the cause."""
        try:
            yield
        except RuntimeError as error:
            if self.size > 1 and _UNUSED in str(error):
                raise RuntimeError(
                    "a batch did not use all weights of a wrapped model, which must be declared: give "
                    "wrap_model() a model in torch.nn.parallel.DistributedDataParallel(model, "
                    "find_unused_parameters=True)"
                ) from error
            if self.size > 1 and _is_of_peers(error):
                _stand_back(error)
            raise


def _is_of_peers(error: BaseException) -> bool:
    text = str(error).lower()
    return isinstance(error, dist.DistError) or any(word in text for word in _BROKEN)


def _stand_back(error: BaseException) -> None:
    deadline = time.monotonic() + STAND_BACK_S
    while time.monotonic() < deadline:
        time.sleep(0.1)
    logger.error("the connection to another process of this training broke (%s): its own messages say why", error)


_WORDS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def _sums(tensor: torch.Tensor) -> torch.Tensor:
    """A checksum: equal weights have the same, others almost never."""
    flat = tensor.detach().contiguous().reshape(-1)
    words = flat.view(_WORDS.get(flat.element_size(), torch.uint8))
    return torch.stack([words.sum(dtype=torch.int64), words[: len(words) // 2].sum(dtype=torch.int64)]).cpu()


def _fingerprint(model: nn.Module) -> Dict[str, Any]:
    return {name: _sums(each).tolist() for name, each in model.named_parameters()}


def join(distributed: Any, timeout_s: float = TIMEOUT_S) -> Ranks:
    """All ranks call it."""
    return Ranks(distributed, timeout_s)
