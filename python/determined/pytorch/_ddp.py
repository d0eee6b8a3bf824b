# SPDX-License-Identifier: Apache-2.0
"""One model on several ranks: torch.distributed's process group, and DistributedDataParallel.

    ranks = join(distributed)     the group, and the device of this process; of one rank: nothing to do
    model = ranks.wrap(model)     weights of rank 0 everywhere, gradients averaged by backward()
    with ranks.no_sync():         a batch whose gradients are kept for later ones
    with ranks.evaluating():      forward passes that do not wait for the other ranks
    with ranks.guard():           the rank that failed is heard before those that it took along
    ranks.leave()

The ranks have met already when the group is made (core's DistributedContext), and on one machine
they agree on its port there: rank 0 listens on loopback, where the kernel says, so that trainings
beside each other do not collide.  Several machines use MASTER_ADDR and MASTER_PORT, as torchrun and
`det launch torch_distributed` set them.

Buffers (the means of BatchNorm) are those of rank 0 at the beginning of every forward pass in
training, which is PyTorch's own rule, and at the beginning of an evaluation; in it they stay, so that
ranks may have different numbers of batches.
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

from determined.pytorch import _private

logger = logging.getLogger("determined.pytorch")

TIMEOUT_S = 1800.0  # for the others, in one operation: a rank may have a checkpoint to write
STAND_BACK_S = 10.0  # for the launcher, to end a rank that lost its peer
_BROKEN = ("gloo", "nccl", "connection closed by peer", "connection reset by peer", "broken pipe")
_UNUSED = "Expected to have finished reduction in the prior iteration"


class _Parallel(DistributedDataParallel):
    """What is not its own it has from the model: `self.model.encode(x)` works on one slot and on two."""

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == "module":
                raise
            return getattr(super().__getattr__("module"), name)


def plain(model: nn.Module) -> nn.Module:
    """The model itself, whose state has the same names on one slot and on several."""
    return model.module if isinstance(model, DistributedDataParallel) else model  # type: ignore[no-any-return]


# ---- the device


def device(local_rank: int, local_size: int) -> torch.device:
    """Of this process: a GPU of its own, or, where there are none, the processor."""
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
    """Where the ranks find each other: on one machine a store of our own; else by environment."""
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
    """Ranks of one machine talk over loopback, whatever its name resolves to."""
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
            f"rank {distributed.rank} could not meet the other {distributed.size - 1} processes of this training "
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
                    f"torch.distributed was initialized as rank {dist.get_rank()} of {dist.get_world_size()}, and "
                    f"this process is rank {self.rank} of {self.size}: leave it to det.pytorch.init()"
                )
            return
        backend = "cpu:gloo,cuda:nccl" if self.device.type == "cuda" else "gloo"
        _open(self.distributed, backend, timeout_s)
        self._owns = True
        atexit.register(self.leave)

    def leave(self) -> None:
        """Ends the group; the user's own stays."""
        atexit.unregister(self.leave)
        fails = sys.exc_info()[0] is not None
        # NCCL would wait for what other ranks never join; the end of the process does it then.
        if self._owns and dist.is_initialized() and not (fails and self.device.type == "cuda"):
            dist.destroy_process_group()
        self._owns = False
        self._models = []

    # ---- models

    def wrap(self, model: nn.Module) -> nn.Module:
        """The model on this device and, where there are others, in step with them.  One that comes in
        a DistributedDataParallel of the user's (find_unused_parameters, ...) stays as it is."""
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
        """What is not trained is not looked after by PyTorch, and must be the same all the same."""
        with torch.no_grad():
            for each in (*model.parameters(), *model.buffers()):
                dist.broadcast(each.data, 0)

    def compress(self, optimizer: torch.optim.Optimizer) -> None:
        """Gradients of the models that it trains travel as float16."""
        own = {id(each) for group in optimizer.param_groups for each in group["params"]}
        for model in self._models:
            if id(model) not in self._compressed and any(id(each) in own for each in model.parameters()):
                model.register_comm_hook(None, default_hooks.fp16_compress_hook)
                self._compressed.append(id(model))

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Around the forward and backward passes of a batch whose gradients stay on this rank until a
        batch outside of it adds its own, and all are averaged."""
        with contextlib.ExitStack() as stack:
            for model in self._models:
                stack.enter_context(model.no_sync())
            yield

    @contextlib.contextmanager
    def evaluating(self) -> Iterator[None]:
        """Forward passes that wait for nobody; all ranks come in together, and with the same weights."""
        self._look_for_difference()
        before = [_private.sync_buffers(model) for model in self._models]
        for model in self._models:
            _private.set_sync_in_forward(model, False)
        try:
            yield
        finally:
            for model, was in zip(self._models, before):
                _private.set_sync_in_forward(model, was)

    def _look_for_difference(self) -> None:
        """Said once: some methods mean it to be so, most do not."""
        if self._models and not self._has_told:
            sentence = self.difference()
            self._has_told = sentence is not None
            if sentence is not None and self.rank == 0:
                logger.warning("%s", sentence)

    def difference(self) -> Optional[str]:
        """A sentence about the first weight that is not the same on all ranks; None: they all are.
        All ranks call it."""
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

    # ---- what goes wrong

    @contextlib.contextmanager
    def guard(self) -> Iterator[None]:
        """Around a training.  A rank whose peer has gone waits a moment before it fails in its turn:
        the launcher ends it, and what is read last is the error that was the cause."""
        try:
            yield
        except RuntimeError as error:
            if self.size > 1 and _UNUSED in str(error):
                raise RuntimeError(
                    "a batch did not use all weights of a wrapped model, which has to be known before: give "
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
    """Of its bits: the same weights have the same, others nearly never."""
    flat = tensor.detach().contiguous().reshape(-1)
    words = flat.view(_WORDS.get(flat.element_size(), torch.uint8))
    return torch.stack([words.sum(dtype=torch.int64), words[: len(words) // 2].sum(dtype=torch.int64)]).cpu()


def _fingerprint(model: nn.Module) -> Dict[str, Any]:
    return {name: _sums(each).tolist() for name, each in model.named_parameters()}


def join(distributed: Any, timeout_s: float = TIMEOUT_S) -> Ranks:
    """All ranks call it."""
    return Ranks(distributed, timeout_s)
