"""Makes small tokenizers with HF's `tokenizers` and writes what they encode and decode.

Usage: make_cases.py INPUT_TXT DIRECTORY [SEED [TEXTS]]. INPUT_TXT is what they are trained on (tinyshakespeare). Each file
of DIRECTORY holds a tokenizer.json and cases: ids without and with special tokens, text back with them and without them.
Needs `pip install tokenizers==0.23.3`. The cases of the repository are those of seed 1 with 12 texts of noise.
"""
import base64
import json
import random
import struct
import sys

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

GERMAN = "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich. Straße, ÄÖÜ; İstanbul ÇĞŞ!"
CHINESE = "我爱北京天安门，天安门上太阳升。東京は日本の首都です。한국어도 있습니다."
TEXTS = [
    "", " ", "a", "ax xax a\u0301 a\u0301x", "First Citizen:\nBefore we proceed any further, hear me speak.\n",
    "I'll say it's 1,234.56 dollars, won't you've 'twas they're I'm he'd?  two  spaces\tand\ttabs ", GERMAN, CHINESE,
    "emoji 👩‍👩‍👧‍👦 and 🇩🇪 👍🏽 ☕️ z̴̢̛a̶l̷g̸o̵ e\u0301 n\u0303 a\u0323\u0302 \u1e69 \u0307\u0323", "\u0000\u0001\u0007\u001f\u007f\u0085\u00a0\u00ad\u200b\u200d\u2028\ufeff\ufffd",
    "x" * 150 + " " + "supercalifragilisticexpialidocious" * 4, "ﬁne ① ½ ﷺ Ⅷ ﾊﾝｶｸ ｆｕｌｌ Å Ω \u212b", "<s>hello</s> [MASK]  <x>word <x> <x>s HELLO hello",
    "\n\n\r\n   leading\n \n trailing   \n\n", "١٢٣ ४५६ 12three4 a_b-c/d\\e (f) [g] {h} <i> $5 €7 ~^`|+=", "ОченЬ ДЛИННЫЙ русский Ἑλληνικά עברית العربية हिन्दी ไทย",
    "▁under▁score  ▁ x", "##a a## <unk> </w> <0x41>", "Ⓐ ⅷ ͅ ‿ ﾞ 𝒜 𐐀 ß ẞ ŉ ǰ",
]


def noise(count, seed):
    print("seed", seed)
    draw = random.Random(seed)
    ranges = [(32, 127), (0, 32), (0xA0, 0x250), (0x300, 0x370), (0x400, 0x500), (0x900, 0xE80), (0x2000, 0x2070), (0x2150, 0x2200),
              (0x3000, 0x3100), (0x4E00, 0x4F00), (0xAC00, 0xAD00), (0xF900, 0xFB50), (0xFF00, 0xFFF0), (0x1F300, 0x1F650)]
    texts = []
    for _ in range(count):
        some = draw.sample(ranges, 3)
        characters = []
        for _ in range(draw.randint(1, 60)):
            low, high = draw.choice(some + ranges[:1] * 2)
            characters.append(draw.choice(" ab\n") if draw.random() < 0.2 else chr(draw.randrange(low, high)))
        texts.append("".join(characters))
    return texts


def trained(model, trainer, normalizer, pre_tokenizer, corpus):
    made = Tokenizer(model)
    if normalizer is not None:
        made.normalizer = normalizer
    if pre_tokenizer is not None:
        made.pre_tokenizer = pre_tokenizer
    made.train_from_iterator(corpus, trainer)
    return made


def bpe(corpus, size, normalizer=None, pre_tokenizer=None, special=(), alphabet=(), **options):
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=list(special), initial_alphabet=list(alphabet), show_progress=False,
                                  **{k: v for k, v in options.items() if k in ("continuing_subword_prefix", "end_of_word_suffix")})
    return trained(models.BPE(**options), trainer, normalizer, pre_tokenizer, corpus)


def with_members(made, change):
    members = json.loads(made.to_str())
    change(members)
    return Tokenizer.from_str(json.dumps(members))


def byte_level(corpus):
    p, alphabet = pre_tokenizers, pre_tokenizers.ByteLevel.alphabet()
    made = bpe(corpus, 700, None, p.ByteLevel(add_prefix_space=False), ["<|endoftext|>"], alphabet)
    made.decoder = decoders.ByteLevel()
    made.post_processor = processors.ByteLevel(trim_offsets=False)
    yield "gpt2", made
    made = bpe(corpus, 600, normalizers.NFC(), p.ByteLevel(add_prefix_space=True), ["<s>", "</s>", "<unk>"], alphabet)
    made.decoder = decoders.ByteLevel()
    made.post_processor = processors.RobertaProcessing(("</s>", 1), ("<s>", 0))
    made.add_special_tokens([AddedToken("[MASK]", lstrip=True)])
    yield "roberta", made
    # As of Llama 3: another regular expression, ignore_merges, a sequence of post-processors.
    words = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
    split = p.Sequence([p.Split(Regex(words), "isolated"), p.ByteLevel(add_prefix_space=False, use_regex=False)])
    made = bpe(corpus, 600, None, split, ["<s>"], alphabet, ignore_merges=True)
    made.decoder = decoders.ByteLevel()
    made.post_processor = processors.Sequence([processors.ByteLevel(), processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 0)])])
    yield "llama3", made
    made = bpe(corpus, 500, normalizers.ByteLevel(), None, (), alphabet)
    made.decoder = decoders.ByteLevel()
    yield "byte_normalizer", made


def other_bpe(corpus):
    p = pre_tokenizers
    lines = [line for line in corpus if line][:300]
    bytes_ = [f"<0x{i:02X}>" for i in range(256)]
    # As of Llama 2: characters with bytes for what is unknown, merges as strings.
    made = bpe(lines, 700, normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]), None,
               ["<unk>", "<s>", "</s>"] + bytes_, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    made.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    made.post_processor = processors.TemplateProcessing(single="<s> $A </s>", pair="<s> $A </s> $B </s>", special_tokens=[("<s>", 1), ("</s>", 2)])

    def strings(members):
        members["model"]["merges"] = [" ".join(pair) for pair in members["model"]["merges"]]
        members["added_tokens"] = [token for token in members["added_tokens"] if token["id"] < 3]
        for token in members["added_tokens"]:
            token["normalized"] = False
    yield "llama2", with_members(made, strings)
    made = bpe(corpus, 400, normalizers.Lowercase(), p.WhitespaceSplit(), ["<unk>"], unk_token="<unk>", end_of_word_suffix="</w>")
    made.decoder = decoders.BPEDecoder()
    yield "suffix", made
    made = bpe(corpus, 400, None, p.Whitespace(), ["<unk>"], unk_token="<unk>", continuing_subword_prefix="##")
    made.decoder = decoders.WordPiece("##", cleanup=False)
    yield "prefix", made
    for fuse in (False, True):
        made = bpe(corpus, 300, None, p.Metaspace(prepend_scheme="first"), ["<unk>"], unk_token="<unk>", fuse_unk=fuse)
        made.decoder = decoders.Metaspace(prepend_scheme="first")
        made.add_tokens([AddedToken("<x>", single_word=True, normalized=False), AddedToken("hello", rstrip=True, normalized=True)])
        yield "metaspace_" + ("fused" if fuse else "apart"), made
    yield "no_unknown", bpe(corpus, 200, normalizers.NFD(), p.Sequence([p.WhitespaceSplit(), p.Punctuation("merged_with_previous")]))


def others(corpus):
    n, p = normalizers, pre_tokenizers
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    for name, normalizer, cleanup in (("bert", n.BertNormalizer(), True), ("bert_cased", n.BertNormalizer(lowercase=False), False),
                                      ("bert_bare", n.BertNormalizer(False, False, True, False), True)):
        made = trained(models.WordPiece(unk_token="[UNK]"), trainers.WordPieceTrainer(vocab_size=400, special_tokens=special, show_progress=False),
                       normalizer, p.BertPreTokenizer(), corpus + [CHINESE])
        made.decoder = decoders.WordPiece(cleanup=cleanup)
        made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
        yield name, made
    cuts = {
        "nfkc": (n.Sequence([n.NFKC(), n.Strip(), n.Replace(Regex(" {2,}"), " ")]), p.Sequence([p.Whitespace(), p.Digits(True)])),
        "nfkd": (n.Sequence([n.NFKD(), n.StripAccents(), n.Lowercase()]), p.Sequence([p.WhitespaceSplit(), p.Digits(False)])),
        "nmt": (n.Sequence([n.Nmt(), n.Strip(left=False)]), p.Sequence([p.Split(" ", "merged_with_next"), p.Punctuation()])),
        "regex": (None, p.Split(Regex(r"\w+|\s"), "contiguous", invert=True)),
        "words": (None, p.Split(Regex(r"\b"), "isolated")),
        "removed": (n.Lowercase(), p.Sequence([p.CharDelimiterSplit("e"), p.Split(Regex(r"\d+"), "removed"), p.Split("o", "merged_with_previous")])),
    }
    for name, (normalizer, pre_tokenizer) in cuts.items():
        made = trained(models.WordLevel(unk_token="[UNK]"), trainers.WordLevelTrainer(vocab_size=300, special_tokens=special, show_progress=False),
                       normalizer, pre_tokenizer, corpus + TEXTS)
        yield "level_" + name, made


def unigram(corpus, pieces):
    n, p = normalizers, pre_tokenizers
    made = trained(models.Unigram(), trainers.UnigramTrainer(vocab_size=500, special_tokens=["<s>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False),
                   n.Sequence([n.Nmt(), n.NFKC(), n.Replace(Regex(" {2,}"), " ")]), p.Metaspace(), corpus[:600])
    made.decoder = decoders.Metaspace()
    made.post_processor = processors.TemplateProcessing(single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)])
    yield "unigram", made
    scores = [("<unk>", 0.0)] + [(f"<0x{i:02X}>", -20.0) for i in range(256)] + [(piece, -1.0 - i / 10) for i, piece in enumerate(pieces)]
    made = Tokenizer(models.Unigram(scores, 0, True))
    made.pre_tokenizer = p.Metaspace(prepend_scheme="never", split=False)
    made.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace(prepend_scheme="never")])
    yield "unigram_bytes", made


def precompiled():
    """SentencePiece's map of characters with one key, 'a', which becomes 'bc'."""
    units, root, value = [0] * 512, 256, 128
    units[0] = root << 10
    units[root ^ ord("a")] = value << 10 | 1 << 8 | ord("a")
    units[root ^ ord("a") ^ value] = 1 << 31
    bytes_ = struct.pack("<I512I", 4 * len(units), *units) + b"bc\0"
    made = Tokenizer(models.WordLevel({"bcx": 0, "[UNK]": 1, "bc": 2}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    members = json.loads(made.to_str())
    members["normalizer"] = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(bytes_).decode()}
    yield "precompiled", Tokenizer.from_str(json.dumps(members))


def cases(made, texts):
    rows, ids_seen = [], set()
    for text in texts:
        try:
            plain, special = made.encode(text, add_special_tokens=False).ids, made.encode(text).ids
        except Exception:
            continue  # Onward's error is another test's
        ids_seen.update(special)
        rows.append([text, plain, special, made.decode(special, skip_special_tokens=False), made.decode(special)])
    draw = random.Random(1)
    sizes = made.get_vocab_size()
    for _ in range(6):  # tokens that no text gives
        ids = [draw.randrange(sizes + 3) for _ in range(12)]
        rows.append([None, None, ids, made.decode(ids, skip_special_tokens=False), made.decode(ids)])
    return rows


def main():
    source, directory = sys.argv[1:3]
    seed, count = int((sys.argv[3:4] or ["1"])[0]), int((sys.argv[4:5] or ["12"])[0])
    with open(source) as file:
        corpus = file.read().split("\n")[:3000]
    texts = TEXTS + noise(count, seed)
    pieces = ["▁", "e", "t", "th", "the", "▁the", "a", "an", "and", "▁and", "i", "in", "ing", "s", "x", "xx", "xxxx", "ü", "天", "天安门"]
    made = [*byte_level(corpus), *other_bpe(corpus), *others(corpus), *unigram(corpus, pieces), *precompiled()]
    for name, tokenizer in made:
        with open(f"{directory}/{name}.json", "w", encoding="utf-8") as file:
            json.dump({"tokenizer": json.loads(tokenizer.to_str()), "cases": cases(tokenizer, texts)}, file, ensure_ascii=False, separators=(",", ":"))


main()
