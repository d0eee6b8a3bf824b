# SPDX-License-Identifier: Apache-2.0
"""Runs the scripts of the guide unchanged."""
import os
import re
import subprocess
import sys
import unittest

from offline_case import Offline

GUIDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/guide")


class Guide(Offline):
    def test_every_script_of_the_core_api_page_runs(self):
        os.environ["DET_EXPERIMENT_CONFIG"] = '{"searcher": {"max_length": {"batches": 200}}}'
        self.run_scripts("core-api-in-python.md", 3)

    def test_every_script_of_the_profiling_page_runs(self):
        self.run_scripts("profiling.md", 1)

    def run_scripts(self, page, least):
        with open(os.path.join(GUIDE, page)) as file:
            scripts = re.findall(r"```python\n(.*?)```", file.read(), re.S)
        self.assertGreaterEqual(len(scripts), least)
        for script in scripts:
            done = subprocess.run(
                [sys.executable, "-c", script], cwd=self.folder, capture_output=True, text=True
            )
            self.assertEqual(done.returncode, 0, script + done.stderr)


if __name__ == "__main__":
    unittest.main()
