#!/usr/bin/env python3
"""Makes small models of SentencePiece and what its programs say of texts: spm_train, spm_encode, spm_decode (Debian's sentencepiece).

Usage: make_sentencepiece.py CORPUS DIRECTORY [SEED [NOISE]]. Writes NAME.model and NAME.json, rows of [text, ids, decoded]; rows
whose text is null have drawn ids. Existing models are kept, so that another seed gives further texts for them."""
import json, os, random, subprocess, sys, tempfile

MODELS = {
    "bpe_bytes": ["--model_type=bpe", "--vocab_size=420", "--byte_fallback=true", "--normalization_rule_name=identity",
                  "--remove_extra_whitespaces=false", "--split_digits=true", "--character_coverage=0.995"],
    "unigram": ["--model_type=unigram", "--vocab_size=300", "--pad_id=0", "--eos_id=1", "--unk_id=2", "--bos_id=-1"],
    "symbols": ["--model_type=bpe", "--vocab_size=200", "--normalization_rule_name=identity", "--add_dummy_prefix=false",
                "--user_defined_symbols=<sep>,the", "--control_symbols=<mask>", "--hard_vocab_limit=false"],
    "letters": ["--model_type=char", "--vocab_size=60", "--normalization_rule_name=identity"],
}
TEXTS = ["", " ", "a", "Hello, world!", "  two  spaces  ", "tabs\tinside", "don't we'll", "2024-01-02 3.14159", "Schön übel naïve", "天安门 hello",
         "😀👨‍👩‍👧 family", "▁under▁score", "<s>text</s>", "<0x41>", "<sep>the<mask>", "x" * 80, "the the theatre", "ﬁne ① ½", "e\u0301 \u00e9", "ТЕКСТ текст"]


def noise(count, seed):
    print("seed", seed)
    draw = random.Random(seed)
    ranges = [(32, 127)] * 6 + [(0xA0, 0x250), (0x300, 0x370), (0x400, 0x500), (0x2581, 0x2582), (0x4E00, 0x4F00), (0xFF00, 0xFFF0), (0x1F300, 0x1F650)]
    return ["".join(chr(draw.randrange(*draw.choice(ranges))) if draw.random() < 0.8 else " " for _ in range(draw.randint(1, 50))) for _ in range(count)]


def program(name, *flags, lines):
    run = subprocess.run([name, *flags], input="".join(line + "\n" for line in lines).encode(), stdout=subprocess.PIPE, check=True,
                         stderr=subprocess.DEVNULL)
    made = run.stdout.decode().split("\n")[:-1]
    assert len(made) == len(lines), (name, len(made), len(lines))
    return made


def train(corpus, path, flags, directory):
    flags = list(flags)
    if "--model_type=unigram" in flags:  # a small map of characters of its own
        rules = os.path.join(directory, "rules.tsv")
        with open(rules, "w") as file:
            file.write("FB01\t66 69\nA0\t20\n65 301\tE9\n9\t20\n")
        flags.append("--normalization_rule_tsv=" + rules)
    subprocess.run(["spm_train", "--input=" + corpus, "--model_prefix=" + path[: -len(".model")], "--num_threads=1", "--minloglevel=2", *flags],
                   check=True, stderr=subprocess.DEVNULL)
    os.remove(path[: -len(".model")] + ".vocab")


def main():
    corpus, directory = sys.argv[1:3]
    seed, count = int((sys.argv[3:4] or ["1"])[0]), int((sys.argv[4:5] or ["60"])[0])
    texts = TEXTS + noise(count, seed)
    draw = random.Random(seed)
    for name, flags in MODELS.items():
        path = f"{directory}/{name}.model"
        if not os.path.exists(path):
            with tempfile.TemporaryDirectory() as scratch:
                train(corpus, path, flags, scratch)
        pieces = subprocess.run(["spm_export_vocab", "--model=" + path], stdout=subprocess.PIPE, check=True).stdout.decode().split("\n")[:-1]
        usable = [i for i, piece in enumerate(pieces) if not piece.startswith("<0x0A>")]  # a line is a text
        ids = program("spm_encode", "--model=" + path, "--output_format=id", lines=texts)
        drawn = [" ".join(str(draw.choice(usable)) for _ in range(10)) for _ in range(20)]
        decoded = program("spm_decode", "--model=" + path, "--input_format=id", lines=ids + drawn)
        rows = [[text, [int(each) for each in row.split()], out] for text, row, out in zip(texts + [None] * len(drawn), ids + drawn, decoded)]
        with open(f"{directory}/{name}.json", "w", encoding="utf-8") as file:
            json.dump(rows, file, ensure_ascii=False, separators=(",", ":"))


main()
