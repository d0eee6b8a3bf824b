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

    def test_the_files_of_a_pytorch_checkpoint_are_listed_once(self):
        with open(os.path.join(GUIDE, "../../pylib/determined/pytorch/_state.py")) as file:
            written = re.findall(r'^(?:STATE|OWN|LOOP|TRIAL_STATE|LOAD_DATA|CODE) = "([^"]+)"', file.read(), re.M)
        with open(os.path.join(GUIDE, "pytorch.md")) as file:
            listed = re.findall(r"^\| `([^`]+)` \|", file.read(), re.M)
        self.assertEqual(len(written), 6)
        for name in written:
            self.assertEqual(listed.count(name if "." in name else name + "/"), 1, name)

    def test_the_figures_of_the_comparison_are_those_that_were_measured(self):
        with open(os.path.join(GUIDE, "comparison.md")) as file:
            table = file.read().split("## What was measured")[1].split("\n## ")[0]
        with open(os.path.join(GUIDE, "../PERFORMANCE.md")) as file:
            latest, peers = file.read().split("## The latest run")[1].split("## Peers, as last measured")
        rows = re.findall(r"^\| .* \| ([\d.,]+)[^|]* \| ([\d.,]+)[^|]* \|$", table, re.M)
        self.assertEqual(len(rows), 9)
        for ours, theirs in rows:
            self.assertRegex(latest, rf"(?<![\d.,]){re.escape(ours)}(?![\d,])")
            self.assertRegex(peers, rf"(?m)^\| `mlflow_\w+` \| {re.escape(theirs)} \|$")

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
