# SPDX-License-Identifier: Apache-2.0
"""Sentences about films, drawn from a small vocabulary, and a tokenizer for it: nothing is downloaded."""
import random

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

GOOD = "good great lovely brilliant moving funny clever warm".split()
BAD = "bad dull awful clumsy boring loud empty cold".split()
THINGS = "film plot cast music ending script".split()
FILLERS = "the a was is and quite very rather this truly".split()
NOT = ["not", "never"]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = SPECIAL + GOOD + BAD + THINGS + FILLERS + NOT


def make_tokenizer():
    """One token a word."""
    words = Tokenizer(models.WordLevel({word: at for at, word in enumerate(WORDS)}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", WORDS.index("[CLS]")), ("[SEP]", WORDS.index("[SEP]"))]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=words,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )


def draw(count, seed):
    """(sentence, whether it praises): "the plot was not boring", 1."""
    choice = random.Random(seed)
    for _ in range(count):
        praises = choice.random() < 0.5
        turned = choice.random() < 0.2
        word = choice.choice(GOOD if praises != turned else BAD)
        parts = [choice.choice(["the", "this"]), choice.choice(THINGS), choice.choice(["was", "is"])]
        parts += [choice.choice(NOT)] if turned else [choice.choice(["quite", "very", "rather", "truly"])]
        yield " ".join([*parts, word]), int(praises)


class Sentences(torch.utils.data.Dataset):
    def __init__(self, tokenizer, count, seed):
        texts, labels = zip(*draw(count, seed))
        self.inputs = tokenizer(list(texts), padding=True, return_tensors="pt")
        self.labels = torch.tensor(labels)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return {"labels": self.labels[index], **{name: values[index] for name, values in self.inputs.items()}}
