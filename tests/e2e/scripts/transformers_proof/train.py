# SPDX-License-Identifier: Apache-2.0
"""Hugging Face's Trainer with a tiny BERT, to be killed."""
import os

os.environ["HF_HUB_OFFLINE"] = "1"

import determined as det
import determined.transformers
import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, set_seed

torch.set_num_threads(1)


class Words(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return {"input_ids": torch.tensor([index, index // 2, index // 4]), "labels": torch.tensor(index % 2)}


def main(core_context):
    seed = core_context.info.trial.trial_seed
    args = TrainingArguments(
        output_dir="output",
        num_train_epochs=12,
        per_device_train_batch_size=4,
        logging_steps=1,
        eval_strategy="epoch",
        save_strategy="epoch",
        seed=seed,
        report_to=[],
        disable_tqdm=True,
    )
    callback = det.transformers.DetCallback(core_context, args)
    set_seed(seed)
    config = BertConfig(vocab_size=64, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8)
    trainer = Trainer(
        model=BertForSequenceClassification(config),
        args=args,
        train_dataset=Words(),
        eval_dataset=Words(),
        callbacks=[callback],
    )
    trainer.train(resume_from_checkpoint=args.resume_from_checkpoint)


if __name__ == "__main__":
    with det.core.init() as context:
        main(context)
