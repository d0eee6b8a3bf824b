# SPDX-License-Identifier: Apache-2.0
"""Does a sentence praise a film?  A tiny BERT, trained by Hugging Face's Trainer with
determined.transformers.DetCallback among its callbacks.  Runs alone, too: python3 train.py
"""
import logging
import os

import data
import determined as det
import determined.transformers
import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, set_seed

DEFAULTS = {
    "epochs": 3,
    "global_batch_size": 32,
    "learning_rate": 0.005,
    "layers": 1,
    "hidden_size": 32,
    "dropout": 0.1,
}


def build_model(hparams):
    return BertForSequenceClassification(
        BertConfig(
            vocab_size=len(data.WORDS),
            hidden_size=hparams["hidden_size"],
            num_hidden_layers=hparams["layers"],
            num_attention_heads=2,
            intermediate_size=2 * hparams["hidden_size"],
            max_position_embeddings=16,
            hidden_dropout_prob=hparams["dropout"],
            attention_probs_dropout_prob=hparams["dropout"],
            initializer_range=0.1,
            num_labels=2,
        )
    )


def accuracy(prediction):
    return {"accuracy": float((prediction.predictions.argmax(-1) == prediction.label_ids).mean())}


def main(core_context):
    hparams = {**DEFAULTS, **core_context.hparams}
    info = core_context.info
    seed = info.trial.trial_seed if info else 1
    args = TrainingArguments(
        output_dir="output",
        num_train_epochs=hparams["epochs"],
        per_device_train_batch_size=hparams["global_batch_size"] // core_context.distributed.size,
        per_device_eval_batch_size=100,
        learning_rate=hparams["learning_rate"],
        logging_steps=8,
        eval_strategy="epoch",
        save_strategy="epoch",
        report_to=[],
        use_cpu=not torch.cuda.is_available(),
        disable_tqdm=True,
        seed=seed,
    )
    callback = det.transformers.DetCallback(core_context, args)
    set_seed(seed)
    tokenizer = data.make_tokenizer()
    trainer = Trainer(
        model=build_model(hparams),
        args=args,
        train_dataset=data.Sentences(tokenizer, 1024, seed=1),
        eval_dataset=data.Sentences(tokenizer, 200, seed=2),
        processing_class=tokenizer,
        compute_metrics=accuracy,
        callbacks=[callback],
    )
    trainer.train(resume_from_checkpoint=args.resume_from_checkpoint)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    launched = "RANK" in os.environ
    distributed = det.core.DistributedContext.from_torch_distributed() if launched else None
    with det.core.init(distributed=distributed) as core_context:
        main(core_context)
