# SPDX-License-Identifier: Apache-2.0
"""Damaged files and full disks, as a script meets them: an error sentence, no loss, no half-written files."""
import contextlib
import os
import pathlib
import subprocess
import unittest

from offline_case import Offline

from determined import core, errors


class Damage(Offline):
    def setUp(self):
        super().setUp()
        self.context = core.init()
        self.addCleanup(self.context.close)
        self.first = self.save(b"the first" * 100, 1)
        self.second = self.save(b"the second" * 100, 2)
        with self.context.checkpoint.restore_path(self.second) as path:
            self.folder_of_second = path

    def save(self, weights, steps):
        with self.context.checkpoint.store_path({"steps_completed": steps}) as (path, uuid):
            (path / "deep").mkdir()
            (path / "deep" / "weights").write_bytes(weights)
            (path / "small").write_text("x")
        return uuid

    @contextlib.contextmanager
    def changed(self, name, change):
        """Changes a file of the second checkpoint, and restores it."""
        path = self.folder_of_second / name
        before = path.read_bytes()
        after = change(bytearray(before))
        if after is None:
            path.unlink()
        else:
            path.write_bytes(after)
        try:
            yield
        finally:
            path.write_bytes(before)

    def refused(self, pattern):
        """Nobody can read any of the second checkpoint; the first is untouched."""
        checkpoint = self.context.checkpoint
        with self.assertRaisesRegex(errors.CorruptError, pattern):
            with checkpoint.restore_path(self.second):
                self.fail("a damaged checkpoint was given out")
        with self.assertRaisesRegex(errors.CorruptError, pattern):
            checkpoint.download(self.second, self.path("got"))
        self.assertFalse(os.path.exists(self.path("got", "small")))
        with self.assertRaisesRegex(errors.CorruptError, pattern):
            checkpoint.download(self.second, self.path("part"), selector=lambda path: True)
        with checkpoint.restore_path(self.first) as path:
            self.assertEqual((path / "deep" / "weights").read_bytes(), b"the first" * 100)

    def whole(self):
        with self.context.checkpoint.restore_path(self.second) as path:
            self.assertEqual((path / "deep" / "weights").read_bytes(), b"the second" * 100)

    def test_a_truncated_file_is_named_with_both_lengths(self):
        for length in (0, 1, 999):
            with self.changed("deep/weights", lambda data: data[:length]):
                self.refused(f"'deep/weights' of the checkpoint has {length} bytes, not 1000")
        self.whole()

    def test_a_flipped_bit_is_noticed_wherever_it_is(self):
        def flip(at, bit):
            def change(data):
                data[at] ^= 1 << bit
                return data

            return change

        for at in (0, 500, 999):
            for bit in (0, 7):
                with self.changed("deep/weights", flip(at, bit)):
                    self.refused("'deep/weights' of the checkpoint has changed")
        self.whole()

    def test_what_is_whole_of_a_damaged_checkpoint_can_be_had(self):
        got = self.path("whole")
        with self.changed("deep/weights", lambda data: data[:1]):
            self.context.checkpoint.download(self.second, got, selector=lambda path: path == "small")
        self.assertEqual(os.listdir(got), ["small"])

    def test_a_missing_file_is_named(self):
        with self.changed("small", lambda data: None):
            self.refused("'small'")
        self.whole()

    def test_a_damaged_or_missing_manifest_is_told(self):
        with self.changed("manifest.det.json", lambda data: data[: len(data) // 2]):
            self.refused("manifest")
        self.whole()

    def test_a_new_checkpoint_can_be_saved_beside_a_damaged_one(self):
        with self.changed("small", lambda data: b"too long"):
            third = self.save(b"the third", 3)
            with self.context.checkpoint.restore_path(third) as path:
                self.assertEqual((path / "deep" / "weights").read_bytes(), b"the third")


class FullDisk(Offline):
    """On a file system of 4 MB, if one can be mounted."""

    def setUp(self):
        super().setUp()
        self.disk = self.path("disk")
        os.mkdir(self.disk)
        mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", self.disk]
        if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
            self.skipTest("needs root")
        self.addCleanup(subprocess.run, ["umount", "-l", self.disk])
        self.context = core.init(checkpoint_storage=self.disk)
        self.addCleanup(self.context.close)

    def save(self, size):
        with self.context.checkpoint.store_path({"steps_completed": 1}) as (path, uuid):
            with open(path / "weights", "wb") as file:
                for _ in range(size >> 16):
                    file.write(b"w" * 65536)
        return uuid

    def listed(self):
        return sorted(path.name for path in pathlib.Path(self.disk).iterdir())

    def test_a_disk_that_fills_in_the_middle_leaves_the_last_checkpoint(self):
        good = self.save(1 << 20)
        with self.assertRaises(OSError) as caught:
            self.save(8 << 20)
        self.assertIn("No space left", str(caught.exception))
        self.assertEqual(self.listed(), [good])
        with self.context.checkpoint.restore_path(good) as path:
            self.assertEqual((path / "weights").stat().st_size, 1 << 20)
        self.assertIn(self.save(1 << 20), self.listed())

    def test_a_folder_that_does_not_fit_is_not_half_there(self):
        pathlib.Path(self.path("big")).mkdir()
        with open(self.path("big", "weights"), "wb") as file:
            file.truncate(8 << 20)
            file.write(b"w" * (8 << 20))
        with self.assertRaisesRegex(errors.BusyError, "weights|space|full"):
            self.context.checkpoint.upload(self.path("big"), {"steps_completed": 1})
        self.assertEqual(self.listed(), [])


if __name__ == "__main__":
    unittest.main()
