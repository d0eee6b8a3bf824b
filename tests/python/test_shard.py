# SPDX-License-Identifier: Apache-2.0
"""Checkpoints that several processes write together."""
import os
import unittest

import ranks
from offline_case import Offline

from determined import core

PRELUDE = """
import pathlib
dist = join()
os.environ["DET_OFFLINE_DIR"] += os.environ["RANK"]
context = core.init(distributed=dist, checkpoint_storage=os.environ["STORE"])
checkpoint, rank = context.checkpoint, dist.rank
"""


class Sharded(Offline):
    SIZE = 3

    def setUp(self):
        super().setUp()
        os.makedirs(self.path("store"))

    def run_all(self, script):
        """(code, output, errors) of each; the script has `checkpoint`, `rank`, `dist`."""
        lines = [line[12:] for line in script.splitlines()]
        done = ranks.run(
            PRELUDE + "\n".join(lines) + "\n", self.SIZE, self.folder, STORE=self.path("store")
        )
        return [(code, out.strip(), errors) for code, out, errors in done]

    def outputs(self, script):
        done = self.run_all(script)
        for rank, (code, _, errors) in enumerate(done):
            self.assertEqual(code, 0, f"rank {rank}: {errors}")
        return [out for _, out, _ in done]

    def files(self, uuid):
        root = self.path("store", uuid)
        return sorted(
            os.path.relpath(os.path.join(where, name), root)
            for where, _, names in os.walk(root)
            for name in names
        )

    def test_the_checkpoint_holds_the_files_of_all(self):
        uuids = self.outputs(
            """
            metadata = {f"rank{rank}": rank, **({"steps_completed": 4} if rank != 1 else {})}
            with checkpoint.store_path(metadata, shard=True) as (path, uuid):
                (path / f"part{rank}").write_text(str(rank))
                (path / "same").write_text("the same everywhere")
            assert checkpoint.get_metadata(uuid)["rank2"] == 2
            print(uuid)
            """
        )
        self.assertEqual(len(set(uuids)), 1)
        self.assertEqual(
            self.files(uuids[0]),
            ["manifest.det.json", "metadata.json", "part0", "part1", "part2", "same"],
        )
        with core.init(checkpoint_storage=self.path("store")) as context:
            metadata = context.checkpoint.get_metadata(uuids[0])
        self.assertEqual(metadata, {"steps_completed": 4, "rank0": 0, "rank1": 1, "rank2": 2})

    def test_overlapped_ones_become_one_when_all_wait(self):
        uuids = self.outputs(
            """
            det = checkpoint._det
            for steps in (1, 2):  # the second beginning waits for the first
                saving = det.checkpoint_begin(steps if rank == 0 else -1, None, dist._group, overlapped=True)
                saving.put(f"part{rank}", b"%d" % steps * 1000)
                saving.commit()
            while True:
                outcome = det.checkpoint_wait(1000)
                if outcome:
                    break
            assert det.checkpoint_wait() is None
            print(outcome[0])
            """
        )
        self.assertEqual(len(set(uuids)), 1)
        self.assertEqual(
            self.files(uuids[0]), ["manifest.det.json", "metadata.json", "part0", "part1", "part2"]
        )
        with open(self.path("store", uuids[0], "part1")) as file:
            self.assertEqual(file.read(), "2" * 1000)

    def test_an_overlapped_one_that_nobody_waits_for_is_given_up(self):
        self.outputs(
            """
            det = checkpoint._det
            saving = det.checkpoint_begin(1 if rank == 0 else -1, None, dist._group, overlapped=True)
            saving.put(f"part{rank}", b"x")
            saving.commit()
            dist.close()
            context.close()
            """
        )
        left = [name for name in os.listdir(self.path("store")) if len(name) == 36]
        self.assertEqual(left, [])

    def test_folders_are_uploaded_and_some_have_none(self):
        for rank in (0, 2):
            self.write(f"own{rank}/deep/part{rank}", "x")
            self.write(f"own{rank}/left-out", str(rank))
        uuids = self.outputs(
            f"""
            folder = None if rank == 1 else f"{self.folder}/own{{rank}}"
            print(checkpoint.upload(folder, {{"steps_completed": 1}}, shard=True,
                                    selector=lambda path: path != "left-out"))
            """
        )
        self.assertEqual(
            self.files(uuids[0]), ["deep/part0", "deep/part2", "manifest.det.json", "metadata.json"]
        )

    def check_all_fail(self, script, sentence):
        for rank, (code, _, errors) in enumerate(self.run_all(script)):
            self.assertEqual(code, 1, f"rank {rank}")
            self.assertIn(sentence, errors)
        self.assertEqual(os.listdir(self.path("store")), [])

    def test_files_that_differ_are_a_conflict_everywhere(self):
        self.check_all_fail(
            """
            with checkpoint.store_path({"steps_completed": 1}, shard=True) as (path, _):
                (path / "model").write_text(str(min(rank, 1)))
            """,
            "ranks 0 and 1 save 'model' with different content",
        )

    def test_metadata_that_differs_is_a_conflict_everywhere(self):
        self.check_all_fail(
            """
            with checkpoint.store_path({"steps_completed": 1, "lr": rank // 2}, shard=True):
                pass
            """,
            "rank 0 has 'lr' in its metadata as 0, rank 2 as 1",
        )

    def test_one_that_fails_takes_all_with_it(self):
        done = self.run_all(
            """
            with checkpoint.store_path({"steps_completed": 1}, shard=True):
                if rank == 1:
                    raise KeyError("lost")
            """
        )
        self.assertEqual([code for code, _, _ in done], [1, 1, 1])
        self.assertIn("KeyError: 'lost'", done[1][2])
        self.assertNotIn("rank 1:", done[1][2])
        for rank in (0, 2):
            self.assertIn("rank 1: KeyError: 'lost'", done[rank][2])
        self.assertEqual(os.listdir(self.path("store")), [])

    def test_what_cannot_be_written_as_text_is_told_all_the_same(self):
        done = self.run_all(
            """
            with checkpoint.store_path({"steps_completed": 1}, shard=True):
                if rank == 1:
                    raise OSError("no file \\udcff\\0")
            """
        )
        self.assertEqual([code for code, _, _ in done], [1, 1, 1])
        self.assertNotIn("UnicodeEncodeError", done[1][2])
        for rank in (0, 2):
            self.assertIn("rank 1: OSError: no file ?", done[rank][2])

    def test_a_selector_that_raises_takes_all_with_it(self):
        self.write("own/file", "x")
        done = self.run_all(
            f"""
            def selector(path):
                return 1 / (rank - 2)
            checkpoint.upload("{self.folder}/own", {{"steps_completed": 1}}, shard=True,
                              selector=selector)
            """
        )
        self.assertIn("ZeroDivisionError", done[2][2])
        for rank in (0, 1):
            self.assertIn("rank 2: the selector failed at 'file'", done[rank][2])

    def test_one_that_dies_is_named_and_nobody_waits(self):
        done = self.run_all(
            """
            with checkpoint.store_path({"steps_completed": 1}, shard=True):
                if rank == 2:
                    os.kill(os.getpid(), 9)
            """
        )
        for rank in (0, 1):
            self.assertIn("UnreachableError", done[rank][2])
            self.assertIn("rank 2", done[rank][2])

    def test_without_shard_only_rank_0_saves(self):
        self.write("own/file", "x")
        found = self.outputs(
            f"""
            try:
                print(checkpoint.upload("{self.folder}/own", {{"steps_completed": 1}}))
            except RuntimeError as error:
                print(error)
            """
        )
        self.assertEqual(len(found[0]), 36)
        for rank in (1, 2):
            self.assertIn("only rank 0", found[rank])

    def test_one_downloads_for_all(self):
        self.write("own/file", "x")
        self.write("own/other", "y")
        with core.init(checkpoint_storage=self.path("store")) as context:
            uuid = context.checkpoint.upload(self.path("own"), {"steps_completed": 1})
        got = self.path("got")
        self.outputs(
            f"""
            checkpoint.download("{uuid}", "{got}", selector=lambda path: path == "file")
            assert os.listdir("{got}") == ["file"]
            with checkpoint.restore_path("{uuid}") as path:
                assert (path / "other").read_text() == "y"
            alone = core.DownloadMode.NoSharedDownload
            checkpoint.download("{uuid}", f"{got}-{{rank}}", alone)
            assert sorted(os.listdir(f"{got}-{{rank}}")) == ["file", "metadata.json", "other"]
            """
        )
        os.unlink(self.path("store", uuid, "file"))
        for code, _, errors in self.run_all(f'            checkpoint.download("{uuid}", "{got}-x")'):
            self.assertEqual(code, 1)
            self.assertIn("'file' of the checkpoint is missing", errors)


if __name__ == "__main__":
    unittest.main()
