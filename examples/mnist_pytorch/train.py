# SPDX-License-Identifier: Apache-2.0
"""A small convolutional network learns to read digits: a PyTorchTrial, and the Trainer that trains it."""
import data
import torch
from determined import pytorch
from torch import nn


def build_model(hparams):
    return nn.Sequential(
        nn.Conv2d(1, hparams["filters1"], 3),
        nn.ReLU(),
        nn.Conv2d(hparams["filters1"], hparams["filters2"], 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Dropout(hparams["dropout"]),
        nn.Flatten(),
        nn.Linear(144 * hparams["filters2"], 10),
    )


class MNISTTrial(pytorch.PyTorchTrial):
    def __init__(self, context):
        self.context = context
        self.hparams = context.get_hparams()
        self.model = context.wrap_model(build_model(self.hparams))
        self.optimizer = context.wrap_optimizer(
            torch.optim.Adadelta(self.model.parameters(), lr=self.hparams["learning_rate"])
        )
        self.loss = nn.CrossEntropyLoss()

    def build_training_data_loader(self):
        x, y = data.load("train")
        batch_size = self.context.get_per_slot_batch_size()
        return pytorch.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=batch_size, shuffle=True)

    def build_validation_data_loader(self):
        x, y = data.load("test")
        batch_size = self.context.get_per_slot_batch_size()
        return pytorch.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=batch_size)

    def train_batch(self, batch, epoch_idx, batch_idx):
        pictures, digits = batch
        loss = self.loss(self.model(pictures), digits)
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        return {"loss": loss}

    def evaluate_batch(self, batch):
        pictures, digits = batch
        scores = self.model(pictures)
        accuracy = (scores.argmax(1) == digits).float().mean()
        return {"validation_loss": self.loss(scores, digits), "accuracy": accuracy}


def main():
    with pytorch.init() as train_context:
        trial = MNISTTrial(train_context)
        trainer = pytorch.Trainer(trial, train_context)
        # How long is said by the configuration: searcher.max_length.
        trainer.fit(validation_period=pytorch.Batch(200), checkpoint_period=pytorch.Batch(200))


if __name__ == "__main__":
    main()
