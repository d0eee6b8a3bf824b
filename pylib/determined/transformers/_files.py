# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of Hugging Face's Trainer, to the checkpoint storage and back.

The Trainer saves into its own folder, OUTPUT_DIR/checkpoint-STEP, and resumes from such a folder. A checkpoint
of the platform holds that folder under its name, the folder of the best model if it is to be loaded in the end,
and the files of TensorBoard's writer in `runs`.

A checkpoint can only be copied into an empty folder, and after a crash OUTPUT_DIR is not empty. So it is copied
into a new folder and moved, one node after the other, since nodes may share the folder.
"""
import json
import os
import re
import shutil
from typing import Any, Dict, List, Optional

from determined import core

FOLDER = "checkpoint-{}"
STATE = "trainer_state.json"
BOARD = "runs"
_NAME = re.compile(r"checkpoint-\d+")


def need_place(output_dir: Any) -> str:
    """Creates the folder that checkpoints are first saved in, and checks that it is writable."""
    try:
        path = os.fspath(output_dir)
        os.makedirs(path, exist_ok=True)
        probe = os.path.join(path, f".det-{os.getpid()}")
        os.close(os.open(probe, os.O_CREAT | os.O_WRONLY, 0o600))
        os.unlink(probe)
    except TypeError:
        raise TypeError(f"args.output_dir is {output_dir!r}; expected the path of a folder") from None
    except OSError as error:
        raise type(error)(
            error.errno,
            f"args.output_dir cannot be written to ({error.strerror}), and checkpoints are saved there first: name "
            "another folder",
            str(output_dir),
        ) from None
    return str(path)


def _is_wanted(path: str) -> bool:
    first = path.split("/")[0]
    return first == BOARD or _NAME.fullmatch(first) is not None


def _move(source: str, target: str) -> None:
    """Moves everything in `source` to `target`, replacing entries of the same name."""
    for name in sorted(os.listdir(source)):
        old, new = os.path.join(source, name), os.path.join(target, name)
        if name == BOARD:
            shutil.copytree(old, new, dirs_exist_ok=True)
            continue
        if os.path.isdir(new):
            shutil.rmtree(new)
        os.replace(old, new)
    shutil.rmtree(source)


def _find_best(folder: str, output_dir: str) -> None:
    """The saved path of the best model is that of another machine; sets it to the path here."""
    path = os.path.join(folder, STATE)
    with open(path, encoding="utf-8") as file:
        state: Dict[str, Any] = json.load(file)
    best = state.get("best_model_checkpoint")
    here = os.path.join(output_dir, os.path.basename(best)) if best else None
    if here is None or here == best or not os.path.isdir(here):
        return
    state["best_model_checkpoint"] = here
    with open(path, "w", encoding="utf-8") as file:
        json.dump(state, file, indent=2, sort_keys=True)
        file.write("\n")


def fetch(core_context: core.Context, uuid: str, output_dir: str) -> str:
    """Copies a checkpoint into `output_dir`; returns the folder to resume from. Every rank calls it."""
    dist = core_context.distributed
    steps = core_context.checkpoint.get_metadata(uuid).get("steps_completed")
    folder = os.path.join(output_dir, FOLDER.format(steps))
    beside = os.path.join(output_dir, f".det-checkpoint-{dist.cross_rank}")
    if dist.local_rank == 0:
        shutil.rmtree(beside, ignore_errors=True)
    dist.broadcast_local(None)
    core_context.checkpoint.download(uuid, beside, selector=_is_wanted)
    if not os.path.isfile(os.path.join(beside, os.path.basename(folder), STATE)):
        raise FileNotFoundError(
            f"checkpoint {uuid} has no '{os.path.basename(folder)}/{STATE}': DetCallback did not save it, and the "
            "Trainer cannot resume from it"
        )
    dist.allgather(None)  # all ranks have looked
    for node in range(dist.cross_size):
        if dist.cross_rank == node and dist.local_rank == 0:
            _move(beside, output_dir)
            _find_best(folder, output_dir)
        dist.allgather(None)
    return folder


def store(
    core_context: core.Context, output_dir: str, step: int, best: Optional[str], user_data: Optional[Dict[str, Any]]
) -> str:
    """Saves OUTPUT_DIR/checkpoint-STEP as a checkpoint of the platform.  Every rank calls it."""
    dist = core_context.distributed
    name = FOLDER.format(step)
    tops: List[str] = [name + "/"]
    if best and os.path.dirname(os.path.abspath(best)) == os.path.abspath(output_dir):
        tops.append(os.path.basename(best) + "/")
    if dist.rank == 0:
        tops.append(BOARD + "/")
    metadata: Optional[Dict[str, Any]] = None
    if dist.rank == 0:
        metadata = {"steps_completed": step, "framework": "transformers"}
        if user_data is not None:
            metadata["user_data"] = user_data
    dist.allgather(None)  # all ranks have written their files
    has_files = dist.local_rank == 0 and os.path.isdir(os.path.join(output_dir, name))
    return core_context.checkpoint.upload(
        output_dir if has_files or dist.size == 1 else None,
        metadata,
        shard=dist.size > 1,
        selector=lambda path: path.startswith(tuple(tops)),
    )
