"""Cases of graph/microsoft/string.cc."""
import numpy as np
from make_cases import Case

TEXTS = np.array(["This is the first, document!", "", "one-two  three", "ÉCOLE naïve straße", " x "], object)


def cases():
    def tokenizer(name, texts, mark=0, least=1, **attributes):
        values = {key: f'string = "{value}"' if isinstance(value, str) else
                  "strings = [" + ", ".join(f'"{v}"' for v in value) + "]"
                  for key, value in attributes.items()}
        text = "".join(f", {key}: {value}" for key, value in values.items())
        return Case(f"tokenizer_{name}",
                    f'y = com.microsoft.Tokenizer <mark: int = {mark}, mincharnum: int = {least}, '
                    f'pad_value: string = "#"{text}> (x)', {"x": texts}, ["y"],
                    types={"y": "string"})

    yield tokenizer("words", TEXTS, tokenexp="[a-zA-Z0-9_]+")
    yield tokenizer("words_marked", TEXTS, mark=1, tokenexp="[a-zA-Z0-9_]+")
    yield tokenizer("long_words", TEXTS, least=4, tokenexp="[a-zA-Z0-9_]+")
    yield tokenizer("any_character", TEXTS, tokenexp=".")
    yield tokenizer("longest", TEXTS, tokenexp="on|one|t|three|th")
    yield tokenizer("separators", TEXTS, separators=[" ", "[,!]"])
    yield tokenizer("separators_long", TEXTS, least=3, separators=["[ -]+"])
    yield tokenizer("separators_marked", TEXTS, mark=1, separators=[" +"])
    yield tokenizer("characters", TEXTS, separators=[""])
    yield tokenizer("characters_marked", TEXTS, mark=1, separators=[""])
    yield tokenizer("matrix", TEXTS[:4].reshape(2, 2), tokenexp="[a-z]+")
    yield tokenizer("no_tokens", TEXTS[1:2], tokenexp="[a-z]+")
    yield tokenizer("no_characters_marked", TEXTS[1:2], mark=1, separators=[""])
    yield tokenizer("no_tokens_marked", TEXTS[1:2], mark=1, tokenexp="[a-z]+")
