# SPDX-License-Identifier: Apache-2.0
"""The scripts of the guide run as they stand there."""
import os
import re
import subprocess
import sys
import unittest

from place import Offline

GUIDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/guide")


class Guide(Offline):
    def test_every_script_of_the_core_api_page_runs(self):
        os.environ["DET_EXPERIMENT_CONFIG"] = '{"searcher": {"max_length": {"batches": 200}}}'
        with open(os.path.join(GUIDE, "core-api-in-python.md")) as file:
            scripts = re.findall(r"```python\n(.*?)```", file.read(), re.S)
        self.assertGreaterEqual(len(scripts), 3)
        for script in scripts:
            done = subprocess.run(
                [sys.executable, "-c", script], cwd=self.folder, capture_output=True, text=True
            )
            self.assertEqual(done.returncode, 0, script + done.stderr)


if __name__ == "__main__":
    unittest.main()
