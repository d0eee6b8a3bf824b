# SPDX-License-Identifier: Apache-2.0
"""Checkpoints that several processes write together: threads stand for processes."""
import os
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor

from place import Offline

from determined import _det, core
from determined.core._checkpoint import CheckpointContext


class Threads:
    """A distributed context among threads."""

    def __init__(self, rank, size, barrier, board):
        self.rank = self.local_rank = rank
        self.size = self.local_size = size
        self.barrier = barrier
        self.board = board

    def allgather(self, stuff):
        self.board[self.rank] = stuff
        self.barrier.wait(30)
        found = [self.board[rank] for rank in range(self.size)]
        self.barrier.wait(30)
        return found

    def broadcast(self, stuff=None):
        return self.allgather(stuff)[0]

    broadcast_local = broadcast


class Sharded(Offline):
    SIZE = 3

    def everywhere(self, work):
        """work(rank, CheckpointContext) in all of them; what each returned or raised."""
        det = _det.open()
        self.addCleanup(det.close)
        barrier, board = threading.Barrier(self.SIZE), {}

        def one(rank):
            dist = Threads(rank, self.SIZE, barrier, board)
            try:
                return work(rank, CheckpointContext(det, det.info(), dist, None))
            except Exception as error:
                return error

        with ThreadPoolExecutor(self.SIZE) as pool:
            return list(pool.map(one, range(self.SIZE)))

    def files(self, uuid):
        root = self.path("run", "checkpoints", uuid)
        return sorted(
            os.path.relpath(os.path.join(where, name), root)
            for where, _, names in os.walk(root)
            for name in names
        )

    def checkpoints(self):
        path = self.path("run", "checkpoints")
        return os.listdir(path) if os.path.exists(path) else []

    def test_the_checkpoint_holds_the_files_of_all(self):
        def work(rank, checkpoint):
            metadata = {"steps_completed": 4, f"rank{rank}": rank}
            with checkpoint.store_path(metadata, shard=True) as (path, uuid):
                (path / f"part{rank}").write_text(str(rank))
                (path / "same").write_text("the same everywhere")
            return uuid

        uuids = self.everywhere(work)
        self.assertEqual(len(set(uuids)), 1)
        self.assertEqual(
            self.files(uuids[0]),
            ["manifest.det.json", "metadata.json", "part0", "part1", "part2", "same"],
        )
        with core.init() as context:
            metadata = context.checkpoint.get_metadata(uuids[0])
        self.assertEqual(metadata, {"steps_completed": 4, "rank0": 0, "rank1": 1, "rank2": 2})

    def test_folders_are_uploaded_and_some_have_none(self):
        for rank in (0, 2):
            self.write(f"own{rank}/deep/part{rank}", "x")
            self.write(f"own{rank}/left-out", str(rank))

        def work(rank, checkpoint):
            return checkpoint.upload(
                None if rank == 1 else self.path(f"own{rank}"),
                {"steps_completed": 1},
                shard=True,
                selector=lambda path: path != "left-out",
            )

        uuids = self.everywhere(work)
        self.assertEqual(
            self.files(uuids[0]), ["deep/part0", "deep/part2", "manifest.det.json", "metadata.json"]
        )

    def test_files_that_differ_are_a_conflict_everywhere(self):
        def work(rank, checkpoint):
            with checkpoint.store_path({"steps_completed": 1}, shard=True) as (path, _):
                (path / "model").write_text(str(min(rank, 1)))

        for error in self.everywhere(work):
            self.assertIsInstance(error, RuntimeError)
            self.assertIn("'model' with different content", str(error))
        self.assertEqual(self.checkpoints(), [])

    def test_metadata_that_differs_is_a_conflict_everywhere(self):
        def work(rank, checkpoint):
            with checkpoint.store_path({"steps_completed": rank}, shard=True):
                pass

        for error in self.everywhere(work):
            self.assertIn("'steps_completed' in its metadata", str(error))

    def test_one_that_fails_takes_all_with_it(self):
        def work(rank, checkpoint):
            with checkpoint.store_path({"steps_completed": 1}, shard=True):
                if rank == 1:
                    raise KeyError("lost")

        found = self.everywhere(work)
        self.assertIsInstance(found[1], KeyError)
        for rank in (0, 2):
            self.assertIn("rank 1 failed to save its part", str(found[rank]))
        self.assertEqual(self.checkpoints(), [])

    def test_without_shard_only_rank_0_saves(self):
        self.write("own/file", "x")

        def work(rank, checkpoint):
            return checkpoint.upload(self.path("own"), {"steps_completed": 1})

        found = self.everywhere(work)
        self.assertIsInstance(found[0], str)
        for rank in (1, 2):
            self.assertIn("only rank 0", str(found[rank]))

    def test_one_downloads_for_all(self):
        self.write("own/file", "x")
        with core.init() as context:
            uuid = context.checkpoint.upload(self.path("own"), {"steps_completed": 1})
        found = self.everywhere(lambda rank, c: c.download(uuid, self.path("got")))
        self.assertEqual(found, [None] * 3)
        self.assertTrue(os.path.exists(self.path("got", "file")))
        os.unlink(self.path("run", "checkpoints", uuid, "file"))
        found = self.everywhere(lambda rank, c: c.download(uuid, self.path("again")))
        for error in found:
            self.assertIsInstance(error, RuntimeError)


if __name__ == "__main__":
    unittest.main()
