# SPDX-License-Identifier: Apache-2.0
"""Two ranks that were stopped in the middle of aggregated gradients, and two that were not, end with the same bits;
so do two whose batches are not of one size."""
import os
import subprocess
import sys
import unittest

import training
from training import Training

from determined import pytorch

RUNS = (("whole", 0, 8), ("stopped", 6, 8), ("stopped", 0, 8), ("uneven", 0, 9))


def train(folder, stop_after, batch_size):
    """One run of one rank."""
    from test_resume import PERIODS, Aggregated

    class Halves(Aggregated):
        def build_training_data_loader(self):
            return training.loader(batch_size=self.context.get_per_slot_batch_size())

    Halves.stop_after = stop_after
    os.environ["DET_OFFLINE_DIR"] = folder
    config = {"reproducibility": {"experiment_seed": 7}, "optimizations": {"aggregation_frequency": 4}}
    with pytorch.init(hparams={**training.HPARAMS, "global_batch_size": batch_size}, exp_conf=config) as context:
        trial = Halves(context)
        metrics = pytorch.Trainer(trial, context).fit(**{**PERIODS, "max_length": pytorch.Epoch(2)})
        print(sorted(metrics.items()), [each.tolist() for each in trial.model.parameters()], flush=True)


class Ranks(Training):
    def start(self, rank):
        place = {"RANK": rank, "WORLD_SIZE": 2, "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": 2, "GROUP_RANK": 0, "GROUP_WORLD_SIZE": 1}
        return subprocess.Popen(
            [sys.executable, __file__, "--rank", self.folder],
            env={**os.environ, **{name: str(value) for name, value in place.items()}},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def test_they_end_with_the_same_bits(self):
        ranks = [self.start(rank) for rank in range(2)]
        told = []
        for each in ranks:
            out, errors = each.communicate()
            self.assertEqual(each.returncode, 0, errors)
            told.append(out.splitlines())
        self.assertEqual(told[0], told[1])  # metrics and weights are the same on all ranks
        self.assertEqual(told[0][0], told[0][2])
        self.in_folder("uneven")
        self.assertEqual(self.checkpoints()[-1][0], 16)  # 72 records in batches of 9, twice
        found = []
        for name in ("whole", "stopped"):
            self.in_folder(name)
            found.append(self.files())
        self.assertIn("rank-1-own_state.pth", found[0])
        self.assertEqual(sorted(found[0]), sorted(found[1]))
        for name in found[0]:
            self.assertEqual(found[0][name], found[1][name], name)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--rank"]:
        for name, stop, size in RUNS:
            train(os.path.join(sys.argv[2], name), stop, size)
    else:
        unittest.main()
