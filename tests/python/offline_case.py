# SPDX-License-Identifier: Apache-2.0
"""The base class of tests: each makes offline runs in its own folder."""
import os
import tempfile
import unittest


class Offline(unittest.TestCase):
    """Each test has a folder, its own home, and no task around it."""

    def setUp(self):
        self.before = dict(os.environ)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(self.put_back)
        self.folder = folder.name
        for name in list(os.environ):
            if name.startswith("DET_") or name in ("TF_CONFIG", "RANK", "WORLD_SIZE"):
                del os.environ[name]
        os.environ["HOME"] = self.folder
        os.environ["XDG_DATA_HOME"] = os.path.join(self.folder, "data")
        os.environ["DET_OFFLINE_DIR"] = os.path.join(self.folder, "run")
        self.forget_info()

    def put_back(self):
        os.environ.clear()
        os.environ.update(self.before)
        self.forget_info()

    def forget_info(self):
        from determined import _info

        _info._cached.clear()

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, name, text):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        return path

    def reported(self):
        """All bytes of the reports: names and JSON can be found in them."""
        found = b""
        for where, _, names in os.walk(self.path("run", "reports")):
            for name in names:
                with open(os.path.join(where, name), "rb") as file:
                    found += file.read()
        return found
