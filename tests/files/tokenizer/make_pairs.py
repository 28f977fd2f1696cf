"""Writes what HF's `tokenizers` encodes of texts and pairs of bounded length.

Usage: make_pairs.py CASES_DIRECTORY OUTPUT_JSON. CASES_DIRECTORY: what make_cases.py wrote. The output has, by tokenizer,
rows of [text, second or null, most tokens or null, special tokens or not, ids, types].
Needs `pip install tokenizers==0.23.3`.
"""
import json
import pathlib
import sys

from tokenizers import Tokenizer

TEXTS = [
    ("First Citizen:\nBefore we proceed any further, hear me speak.", "All: Speak, speak."),
    ("hear me", "You are all resolved rather to die than to famish? Resolved. resolved."),
    ("", "nothing"),
    ("some <s> words", ""),
]


def main():
    made = {}
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*.json")):
        rows = []
        tokenizer = Tokenizer.from_str(json.dumps(json.loads(path.read_text())["tokenizer"]))
        for first, second in TEXTS:
            for other in (None, second):
                for most in (None, 11, 8):
                    for special in (True, False):
                        tokenizer.no_truncation()
                        if most is not None:
                            tokenizer.enable_truncation(most)
                        encoding = tokenizer.encode(first, other, add_special_tokens=special)
                        rows.append([first, other, most, special, encoding.ids, encoding.type_ids])
        made[path.stem] = rows
    with open(sys.argv[2], "w") as file:
        file.write("{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(rows)}" for name, rows in made.items()) + "\n}\n")


if __name__ == "__main__":
    main()
