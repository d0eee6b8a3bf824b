# SPDX-License-Identifier: Apache-2.0
"""Two ranks that were stopped in the middle of aggregated gradients and resumed end with the same bits as two
uninterrupted ones; so do two with batches of different sizes."""
import os
import unittest

import children
import test_resume
import training
from training import Training

from determined import pytorch

RUNS = (("whole", 0, 8), ("stopped", 6, 8), ("stopped", 0, 8), ("uneven", 0, 9))


def train(folder, stop_after, batch_size):
    """One run of one rank."""

    class Halves(test_resume.Aggregated):
        def build_training_data_loader(self):
            return training.loader(batch_size=self.context.get_per_slot_batch_size())

    Halves.stop_after = stop_after
    os.environ["DET_OFFLINE_DIR"] = folder
    config = {"reproducibility": {"experiment_seed": 7}, "optimizations": {"aggregation_frequency": 4}}
    with pytorch.init(hparams={**training.HPARAMS, "global_batch_size": batch_size}, exp_conf=config) as context:
        trial = Halves(context)
        metrics = pytorch.Trainer(trial, context).fit(**{**test_resume.PERIODS, "max_length": pytorch.Epoch(2)})
        return sorted(metrics.items()), [each.tolist() for each in trial.model.parameters()]


def train_all(folder):
    return [train(os.path.join(folder, name), stop, size) for name, stop, size in RUNS]


class Ranks(Training):
    def test_they_end_with_the_same_bits(self):
        told = []
        for each in children.run_ranks(2, train_all, self.folder):
            self.assertEqual(each["code"], 0, each.get("error", "") + each["log"])
            told.append(each["value"])
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
    unittest.main()
