# SPDX-License-Identifier: Apache-2.0
"""The example does the same as plain PyTorch: a loop without our package, with the same batches in the same order,
ends with the same weights and the same metrics, to the bit. And the scripts of the guide run unchanged."""
import csv
import io
import json
import math
import os
import re
import subprocess
import sys
import unittest

os.environ["CUDA_VISIBLE_DEVICES"] = ""  # processors: sums in one order, and any number of processes

import numpy as np
import offline_case
import torch
from determined import _det, pytorch
from torch import nn

import determined as det

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")
EXAMPLE = os.path.join(ROOT, "examples/mnist_pytorch")
RECORDS, BATCH, BATCHES = 300, 32, 25  # two epochs and a part of the third, with short last batches
HPARAMS = {"global_batch_size": BATCH, "learning_rate": 0.5, "filters1": 3, "filters2": 4, "dropout": 0.25}
SEED = 7


def plain():
    """A training as PyTorch's own tutorials write it."""
    import data
    import train

    torch.manual_seed(SEED)
    model = train.build_model(HPARAMS)
    optimizer = torch.optim.Adadelta(model.parameters(), lr=HPARAMS["learning_rate"])
    x, y = data.load("train")
    items, counts = _det.order(len(x), BATCH, True, SEED, 0, BATCHES, 0, 1)
    ends = np.cumsum(np.frombuffer(counts, np.int64))[:-1]
    model.train()
    for batch in map(torch.from_numpy, np.split(np.frombuffer(items, np.int64).copy(), ends)):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x[batch]), y[batch])
        loss.backward()
        optimizer.step()
    return model, *evaluate(model, *data.load("test"))


@torch.no_grad()
def evaluate(model, x, y):
    model.eval()
    losses, right = [], []
    for pictures, digits in zip(x.split(BATCH), y.split(BATCH)):
        scores = model(pictures)
        losses.append(nn.functional.cross_entropy(scores, digits).item() * len(digits))
        right.append((scores.argmax(1) == digits).float().mean().item() * len(digits))
    return math.fsum(losses) / len(x), math.fsum(right) / len(x)


class Example(offline_case.Offline):
    def setUp(self):
        super().setUp()
        sys.path.insert(0, EXAMPLE)
        self.addCleanup(sys.path.remove, EXAMPLE)
        os.environ["DRAWN_DATA"] = str(RECORDS)
        os.environ["DET_HPARAMS"] = json.dumps(HPARAMS)
        os.environ["DET_EXPERIMENT_CONFIG"] = json.dumps(
            {
                "searcher": {"name": "single", "metric": "validation_loss", "max_length": {"batches": BATCHES}},
                "reproducibility": {"experiment_seed": SEED},
            }
        )

    def reported(self):
        shown = subprocess.run(
            [self.before["DET"], "trial", "metrics", "1", "--local=" + self.path("run"), "--csv"], capture_output=True, text=True
        )
        self.assertEqual(shown.returncode, 0, shown.stderr)
        return {(row["group"], row["name"]): float(row["value"]) for row in csv.DictReader(io.StringIO(shown.stdout))}

    def test_it_ends_with_the_weights_and_the_metrics_of_plain_pytorch(self):
        import train

        train.main()
        model, loss, accuracy = plain()
        reported = self.reported()
        self.assertEqual(reported["validation", "batches"], BATCHES)
        self.assertEqual(reported["validation", "validation_loss"], loss)
        self.assertEqual(reported["validation", "accuracy"], accuracy)
        (uuid,) = os.listdir(self.path("run", "checkpoints"))
        trial = pytorch.load_trial_from_checkpoint_path(self.path("run", "checkpoints", uuid), train.MNISTTrial)
        for name, tensor in model.state_dict().items():
            self.assertTrue(torch.equal(tensor, trial.model.state_dict()[name]), name)

    def test_files_of_mnist_are_read_where_they_are(self):
        import data

        del os.environ["DRAWN_DATA"]
        os.environ["MNIST_DIR"] = self.folder
        for split, count in (("train", 3), ("test", 2)):
            for name, shape in zip(data.FILES[split], ((count, 28, 28), (count,))):
                content = np.arange(np.prod(shape)).astype(np.uint8).reshape(shape)
                head = bytes([0, 0, 8, len(shape)]) + b"".join(size.to_bytes(4, "big") for size in shape)
                with open(self.path(name), "wb") as file:
                    file.write(head + content.tobytes())
        x, y = data.load("test")
        self.assertEqual((tuple(x.shape), y.tolist(), x.dtype), ((2, 1, 28, 28), [0, 1], torch.float32))
        self.assertEqual(x.flatten()[1].item(), torch.tensor(1 / 255).item())


class Guide(offline_case.Offline):
    def setUp(self):
        super().setUp()
        os.environ["DET_HPARAMS"] = json.dumps({"global_batch_size": 32, "learning_rate": 0.01})
        os.environ["DET_EXPERIMENT_CONFIG"] = json.dumps(
            {"searcher": {"name": "single", "metric": "validation_loss"}, "data": {"trial_id": 1, "batch_size": 8}}
        )
        self.names = {"__name__": "__main__"}

    def blocks(self, page):
        self.page = os.path.join(ROOT, "docs/guide", page)
        with open(self.page) as file:
            return re.findall(r"```python\n(.*?)```", file.read(), re.S)

    def run_block(self, block):
        """In its own run."""
        self.runs = getattr(self, "runs", 0) + 1
        os.environ["DET_OFFLINE_DIR"] = self.path(f"run {self.runs}")
        exec(compile(block, self.page, "exec"), self.names)

    def train(self, name):
        self.run_block("")
        with det.pytorch.init() as context:
            return context.fit(context.build_trial(self.names[name]), max_length=det.Batches(12))

    def test_every_script_of_the_pytorch_page_runs(self):
        trial, fit, trainer, *others, after, load = self.blocks("pytorch.md")
        self.run_block(trial)
        self.run_block(fit)
        self.assertLess(self.names["metrics"]["validation_loss"], 10)
        self.names["context"].close()
        self.run_block(trainer)
        self.assertEqual(len(others), 5)
        for block in others:
            self.run_block(block)
        for name in ("WithCallback", "WithSchedule", "WithAmp", "WithScaler"):
            self.assertIn("validation_loss", self.train(name))
        self.assertIn("mean_error", self.train("WithReducer"))
        self.run_block(after)
        self.names["context"].close()
        root = os.path.join(os.environ["DET_OFFLINE_DIR"], "checkpoints")
        self.names["path"] = os.path.join(root, os.listdir(root)[0])
        self.run_block(load)
        self.assertIsInstance(self.names["trial"], self.names["PointsTrial"])

    def test_every_script_of_the_inference_page_runs(self):
        example = os.path.join(ROOT, "examples/ones_pytorch")
        sys.path.insert(0, example)
        self.addCleanup(sys.path.remove, example)
        self.addCleanup(sys.modules.pop, "train", None)
        sys.modules.pop("train", None)
        from train import OnesDataset, OneVarPytorchTrial

        predict, stream, process = self.blocks("batch-inference.md")
        os.environ["DET_OFFLINE_DIR"] = self.path("run")
        with det.pytorch.init() as context:
            data = pytorch.DataLoader(OnesDataset(), 8)
            context.fit(context.build_trial(OneVarPytorchTrial), data, max_length=det.Epochs(1))
        exec(compile(predict, self.page, "exec"), self.names)
        self.assertEqual(tuple(self.names["predictions"].shape), (64, 1))
        exec(compile(stream, self.page, "exec"), self.names)
        self.names["context"].close()
        self.names = {"__name__": "__main__"}  # as a separate script
        self.run_block(process)
        found = [name for _, _, names in os.walk(os.environ["DET_OFFLINE_DIR"]) for name in names if name.startswith("rows-")]
        self.assertEqual(len(found), 8)


if __name__ == "__main__":
    unittest.main()
