#!/usr/bin/env python3
"""Two classes of passages of a play, for bert.textproto: the beginnings of speeches (1) and what follows within them (0).
Usage: make_passages.py INPUT_TXT DIRECTORY writes train.jsonl and test.jsonl. Tokens are bytes: a vocabulary of BERT's
size has room for them."""
import json
import os
import random
import sys

BEGIN, END, FIRST_BYTE = 101, 102, 1000  # BERT's [CLS] and [SEP]
LENGTH, TRAIN, TEST = 30, 1600, 400


def passages(text):
    for speech in text.split("\n\n"):
        rest = speech[LENGTH + 20:]
        if ":\n" in speech[:LENGTH] and len(rest) >= LENGTH:
            yield speech[: random.randint(LENGTH // 2, LENGTH)], 1
            start = random.randint(0, len(rest) - LENGTH)
            yield rest[start : start + random.randint(LENGTH // 2, LENGTH)], 0


def line(passage, label):
    ids = [BEGIN] + [FIRST_BYTE + byte for byte in passage.encode()] + [END]
    return json.dumps({"input_ids": ids, "attention_mask": [1] * len(ids), "token_type_ids": [0] * len(ids), "label": label})


def main():
    random.seed(1)
    with open(sys.argv[1], encoding="utf-8") as file:
        lines = [line(*each) for each in passages(file.read())]
    random.shuffle(lines)
    os.makedirs(sys.argv[2], exist_ok=True)
    for name, part in ("train", lines[:TRAIN]), ("test", lines[TRAIN : TRAIN + TEST]):
        with open(os.path.join(sys.argv[2], name + ".jsonl"), "w", encoding="utf-8") as file:
            file.write("\n".join(part) + "\n")


if __name__ == "__main__":
    main()
