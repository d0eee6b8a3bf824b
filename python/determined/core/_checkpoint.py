# SPDX-License-Identifier: Apache-2.0
import contextlib
import enum
import json
import os
import pathlib
import shutil
import tempfile
from typing import Any, Dict, Iterator, Optional, Tuple, Union

from determined import _det
from determined.core import _shard
from determined.core._distributed import DistributedContext
from determined.core._master import Master
from determined.core._shard import Selector

_Path = Union[str, "os.PathLike[str]"]
_FLUSH_MS = 60000


class DownloadMode(enum.Enum):
    """Who downloads, where several processes of a machine want the same checkpoint."""

    LocalWorkersShareDownload = "LOCAL_WORKERS_SHARE_DOWNLOAD"
    NoSharedDownload = "NO_SHARED_DOWNLOAD"


def _steps_of(metadata: Optional[Dict[str, Any]]) -> int:
    if metadata is not None and not isinstance(metadata, dict):
        raise TypeError(f"the metadata is of type {type(metadata).__name__}; expected a dict")
    steps = (metadata or {}).get("steps_completed")
    if isinstance(steps, bool) or not isinstance(steps, int):
        raise ValueError(
            "the metadata of a checkpoint needs 'steps_completed', a whole number: how many "
            "batches the state has seen"
        )
    return steps


class CheckpointContext:
    """Saving and restoring.

    A checkpoint is a folder in the experiment's checkpoint storage, named by its storage id.
    What is listed is whole: it is reported when every file is on disk, with its checksum.
    """

    def __init__(
        self, det: _det.Context, info: Dict[str, Any], dist: DistributedContext, master: Master
    ) -> None:
        self._det = det
        self._info = info
        self._dist = dist
        self._master = master

    # ---- saving

    def _check_rank(self, shard: bool, what: str) -> None:
        if not shard and self._dist.rank != 0:
            raise RuntimeError(f"only rank 0 calls {what} with shard=False")

    def _begin(self, metadata: Optional[Dict[str, Any]]) -> _det.Checkpoint:
        steps = _steps_of(metadata)
        return self._det.checkpoint_begin(steps, json.dumps(metadata))

    def upload(
        self,
        ckpt_dir: Optional[_Path],
        metadata: Optional[Dict[str, Any]] = None,
        *,
        shard: bool = False,
        selector: Optional[Selector] = None,
    ) -> str:
        """Saves the files of a folder and returns the storage id.

        `selector` is asked about every path in it, folders with a slash at the end; without
        one everything is saved.  With `shard` every process calls it with a folder of its
        own (or None), and the checkpoint holds the files of all.
        """
        self._check_rank(shard, "upload()")
        if shard and self._dist.size > 1:
            return self._upload_shard(ckpt_dir, metadata, selector)
        if ckpt_dir is None:
            raise ValueError("ckpt_dir is None; expected the folder to be saved")
        folder = os.fspath(ckpt_dir)
        steps = _steps_of(metadata)
        if selector is None:
            return self._det.checkpoint_store(folder, steps, json.dumps(metadata))
        if not os.path.isdir(folder):
            raise NotADirectoryError(f"'{folder}' is not a folder that could be saved")
        with self.store_path(metadata) as (path, storage_id):
            _shard.copy_files(folder, str(path), _shard.list_files(folder, selector))
        return storage_id

    def _upload_shard(
        self,
        ckpt_dir: Optional[_Path],
        metadata: Optional[Dict[str, Any]],
        selector: Optional[Selector],
    ) -> str:
        folder = None if ckpt_dir is None else os.fspath(ckpt_dir)
        with self._shared_draft(metadata) as (draft, storage_id):
            _shard.write_part(self._dist, folder, draft, selector)
        return storage_id

    @contextlib.contextmanager
    def _shared_draft(self, metadata: Optional[Dict[str, Any]]) -> Iterator[Tuple[str, str]]:
        """One draft for all ranks; rank 0 begins it, and commits when all are done."""
        dist = self._dist
        merged = _shard.merge_metadata(dist.allgather(metadata))
        checkpoint: Optional[_det.Checkpoint] = None

        def begin() -> Optional[Tuple[str, str]]:
            nonlocal checkpoint
            if dist.rank != 0:
                return None
            checkpoint = self._begin(merged)
            return checkpoint.path, checkpoint.uuid

        try:
            yield _shard.together(dist, begin)[0]
            _shard.together(dist, lambda: checkpoint.commit() if checkpoint else None)
        finally:
            if checkpoint:
                checkpoint.abort()  # does nothing to what was committed

    @contextlib.contextmanager
    def _store_shard(self, metadata: Optional[Dict[str, Any]]) -> Iterator[Tuple[pathlib.Path, str]]:
        with self._shared_draft(metadata) as (draft, storage_id):
            with tempfile.TemporaryDirectory() as own:
                failure: Optional[BaseException] = None
                try:
                    yield pathlib.Path(own), storage_id
                except BaseException as error:  # the others must hear of it
                    failure = error
                _shard.together(self._dist, lambda: _shard.raise_it(failure))
                _shard.write_part(self._dist, own, draft, None)

    @contextlib.contextmanager
    def store_path(
        self, metadata: Optional[Dict[str, Any]] = None, *, shard: bool = False
    ) -> Iterator[Tuple[pathlib.Path, str]]:
        """A folder to write into, and the storage id: saved when the `with` ends, and
        thrown away when it ends by an exception.

        With `shard` every process has a folder of its own, and the checkpoint holds the
        files of all."""
        self._check_rank(shard, "store_path()")
        if shard and self._dist.size > 1:
            with self._store_shard(metadata) as both:
                yield both
            return
        checkpoint = self._begin(metadata)
        try:
            yield pathlib.Path(checkpoint.path), checkpoint.uuid
            checkpoint.commit()
        finally:
            checkpoint.abort()  # does nothing to what was committed

    # ---- restoring

    @staticmethod
    def _check_id(storage_id: str) -> str:
        if not isinstance(storage_id, str):
            raise TypeError(f"the storage id is {storage_id!r}; expected a string")
        return storage_id

    def download(
        self,
        storage_id: str,
        ckpt_dir: _Path,
        download_mode: DownloadMode = DownloadMode.LocalWorkersShareDownload,
        *,
        selector: Optional[Selector] = None,
    ) -> None:
        """Copies a checkpoint into a folder; every file is compared with its checksum.

        With LocalWorkersShareDownload every process of a machine calls it with the same
        folder, and one of them copies."""
        shares = download_mode is DownloadMode.LocalWorkersShareDownload
        failure: Optional[Exception] = None
        if not shares or self._dist.local_rank == 0:
            try:
                self._download(self._check_id(storage_id), os.fspath(ckpt_dir), selector)
            except Exception as error:
                failure = error
        sentence = None if failure is None else str(failure)
        if shares and self._dist.local_size > 1:
            sentence = self._dist.broadcast_local(sentence)
        if failure is not None:
            raise failure
        if sentence is not None:
            raise RuntimeError(f"the download failed: {sentence}")

    def _download(self, storage_id: str, folder: str, selector: Optional[Selector]) -> None:
        if selector is None:
            self._det.checkpoint_download(storage_id, folder)
            return
        source = self._det.checkpoint_restore(storage_id)
        os.makedirs(folder, exist_ok=True)
        _shard.copy_files(source, folder, _shard.list_files(source, selector))

    @contextlib.contextmanager
    def restore_path(
        self,
        storage_id: str,
        download_mode: DownloadMode = DownloadMode.LocalWorkersShareDownload,
        *,
        selector: Optional[Selector] = None,
    ) -> Iterator[pathlib.Path]:
        """The folder of a checkpoint, to be read only; every file was compared with its
        checksum.  Where the storage is a file system it is the checkpoint itself, whatever
        `selector` says."""
        yield pathlib.Path(self._det.checkpoint_restore(self._check_id(storage_id)))

    def get_metadata(self, storage_id: str) -> Dict[str, Any]:
        """The metadata that the checkpoint was saved with."""
        metadata: Dict[str, Any] = json.loads(
            self._det.checkpoint_metadata(self._check_id(storage_id))
        )
        return metadata

    def delete(self, storage_id: str) -> None:
        """Removes a checkpoint.  On a cluster the master keeps a note of it, refuses what
        somebody still needs, and has an agent remove the files."""
        path = self._det.checkpoint_restore(self._check_id(storage_id), True)
        if not self._info["is_on_cluster"]:
            shutil.rmtree(path)
            return
        self._det.flush(_FLUSH_MS)  # the master may not have heard of it yet
        body = {"checkpointUuids": [storage_id]}
        self._master.call("DELETE", "/api/v1/checkpoints", body, as_task=False)
