# SPDX-License-Identifier: Apache-2.0
import contextlib
import enum
import json
import os
import pathlib
from typing import Any, Callable, Dict, Iterator, Optional, Tuple, Union

from determined import _det
from determined.core._distributed import DistributedContext, _sentence

_Path = Union[str, "os.PathLike[str]"]
Selector = Callable[[str], bool]

# enum det_restore_flag: a checkpoint of another program has no manifest and is taken as it is
_FOREIGN = 2


class DownloadMode(enum.Enum):
    """Which process downloads if several processes of a machine want the same checkpoint."""

    LocalWorkersShareDownload = "LOCAL_WORKERS_SHARE_DOWNLOAD"
    NoSharedDownload = "NO_SHARED_DOWNLOAD"


def _steps_of(metadata: Optional[Dict[str, Any]], is_shared: bool) -> int:
    if metadata is not None and not isinstance(metadata, dict):
        raise TypeError(f"the metadata is of type {type(metadata).__name__}; expected a dict")
    steps = (metadata or {}).get("steps_completed")
    if steps is None and is_shared:
        return -1  # another rank gives it
    if isinstance(steps, bool) or not isinstance(steps, int):
        raise ValueError(
            "the metadata of a checkpoint needs 'steps_completed', a whole number: how many "
            "batches the state has seen"
        )
    return steps


class CheckpointContext:
    """Saving and restoring.

    A checkpoint is a folder in the experiment's checkpoint storage, named by its storage id. A listed
    checkpoint is complete: it is reported when every file is on disk, with its checksum.
    """

    def __init__(self, det: _det.Context, dist: DistributedContext) -> None:
        self._det = det
        self._dist = dist

    # ---- saving

    def _group(self, shard: bool, what: str) -> Optional[_det.Distributed]:
        """The group that saves the checkpoint together; None: this process alone."""
        if shard and self._dist.size > 1:
            return self._dist._group
        if not shard and self._dist.rank != 0:
            raise RuntimeError(f"only rank 0 calls {what} with shard=False")
        return None

    def upload(
        self,
        ckpt_dir: Optional[_Path],
        metadata: Optional[Dict[str, Any]] = None,
        *,
        shard: bool = False,
        selector: Optional[Selector] = None,
    ) -> str:
        """Saves the files of a folder and returns the storage id.

        `selector` is asked about every path in it (folders end with a slash); without a selector everything is
        saved. With `shard` every process calls it with its own folder (or None), and the checkpoint holds the
        files of all.
        """
        group = self._group(shard, "upload()")
        if ckpt_dir is None and group is None:
            raise ValueError("ckpt_dir is None; expected the folder to be saved")
        folder = None if ckpt_dir is None else os.fspath(ckpt_dir)
        steps = _steps_of(metadata, group is not None)
        return self._det.checkpoint_store(
            folder, steps, json.dumps(metadata or {}), selector, group
        )

    @contextlib.contextmanager
    def store_path(
        self, metadata: Optional[Dict[str, Any]] = None, *, shard: bool = False
    ) -> Iterator[Tuple[pathlib.Path, str]]:
        """A folder to write into, and the storage id. The checkpoint is saved when the `with` ends, and discarded
        when it ends with an exception.

        With `shard` every process has its own folder, and the checkpoint holds the files of all."""
        group = self._group(shard, "store_path()")
        steps = _steps_of(metadata, group is not None)
        checkpoint = self._det.checkpoint_begin(steps, json.dumps(metadata or {}), group)
        try:
            yield pathlib.Path(checkpoint.path), checkpoint.uuid
        except BaseException as error:  # the other ranks must be told
            checkpoint.abort(_sentence(error))
            raise
        try:
            checkpoint.commit()
        finally:
            checkpoint.abort()  # has no effect on a committed checkpoint

    # ---- restoring

    @staticmethod
    def _check_id(storage_id: str) -> str:
        if not isinstance(storage_id, str):
            raise TypeError(f"the storage id is {storage_id!r}; expected a string")
        return storage_id

    def _sharing(self, mode: DownloadMode) -> Optional[_det.Distributed]:
        if mode is DownloadMode.LocalWorkersShareDownload and self._dist.local_size > 1:
            return self._dist._group
        return None

    def download(
        self,
        storage_id: str,
        ckpt_dir: _Path,
        download_mode: DownloadMode = DownloadMode.LocalWorkersShareDownload,
        *,
        selector: Optional[Selector] = None,
    ) -> None:
        """Copies a checkpoint into a folder and verifies the checksum of every file, if the checkpoint has
        checksums.

        With LocalWorkersShareDownload every process of a machine calls it with the same folder, and one of them
        copies."""
        self._det.checkpoint_download(
            self._check_id(storage_id),
            os.fspath(ckpt_dir),
            _FOREIGN,
            selector,
            self._sharing(download_mode),
        )

    @contextlib.contextmanager
    def restore_path(
        self,
        storage_id: str,
        download_mode: DownloadMode = DownloadMode.LocalWorkersShareDownload,
        *,
        selector: Optional[Selector] = None,
    ) -> Iterator[pathlib.Path]:
        """The read-only folder of a checkpoint. The checksums of the files that `selector` wants are verified, if
        the checkpoint has checksums. If the storage is a file system, it is the checkpoint itself, with all its
        files.

        With LocalWorkersShareDownload every process of a machine calls it, and one of them verifies."""
        group = self._sharing(download_mode)
        yield pathlib.Path(
            self._det.checkpoint_restore(
                self._check_id(storage_id), _FOREIGN, selector, group
            )
        )

    def get_metadata(self, storage_id: str) -> Dict[str, Any]:
        """The metadata that the checkpoint was saved with."""
        metadata: Dict[str, Any] = json.loads(
            self._det.checkpoint_metadata(self._check_id(storage_id))
        )
        return metadata

    def delete(self, storage_id: str) -> None:
        """Deletes a checkpoint. On a cluster the master keeps a record of it, refuses to delete a checkpoint that
        is still needed, and has an agent remove the files."""
        self._det.checkpoint_delete(self._check_id(storage_id))
