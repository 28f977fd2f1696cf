"""StringConcat, StringSplit, StringNormalizer and RegexFullMatch."""
from case import case, join, text


def cases():
    return join(
        case("broadcast", "StringConcat", [[["a"], ["b"]], ["x", "yz"]], types="text"),
        case("scalars", "StringConcat", ["a", ""], types="text"),
        case("utf8", "StringConcat", [["ä"], ["漢"]], types="text"),
        case("empty", "StringConcat", [[], ["x"]], types="text"),
        case("comma", "StringSplit", [text(["a,b", "c", ""])], delimiter=",", outputs=2),
        case("white_space", "StringSplit", [text(["  hello  world ", "", "\t x"])], outputs=2),
        case("doubled", "StringSplit", [text(["a--b----c"])], delimiter="--", outputs=2),
        case("maxsplit", "StringSplit", [text([["a b c d"], ["x y"]])], maxsplit=1, outputs=2),
        case("maxsplit_space_end", "StringSplit", [text([" a  b c "])], maxsplit=1, outputs=2),
        case("maxsplit_delimiter", "StringSplit", [text(["a.b.c"])], delimiter=".", maxsplit=1, outputs=2),
        case("maxsplit_0", "StringSplit", [text(["a b "])], maxsplit=0, outputs=2),
        case("all_white", "StringSplit", [text(["   "])], outputs=2),
        case("no_texts", "StringSplit", [text([])], outputs=2),
        case(
            "lower", "StringNormalizer", [text(["Monday", "monday", "TUESDAY"])], case_change_action="LOWER",
            is_case_sensitive=1, stopwords=["monday"],
        ),
        case(
            "upper_insensitive", "StringNormalizer", [text([["Monday", "monday", "tuesday"]])],
            case_change_action="UPPER", stopwords=["monday"],
        ),
        # The standard: one empty string where none is left.
        case("nothing_left", "StringNormalizer", [["A", "a"]], stopwords=["a"], expected=[[""]], types="text"),
        # By Unicode's simple mappings, in any locale: Python makes two letters of the sharp s.
        case("accents", "StringNormalizer", [["äßé"]], case_change_action="UPPER", expected=[["ÄßÉ"]], types="text"),
        case("unchanged", "StringNormalizer", [text(["b", "A"])]),
        case(
            "match", "RegexFullMatch", [text([["www.google.com", "www.face_book.org"], ["xwww.a.com", ""]])],
            pattern="www\\.[\\w.-]+\\.com",
        ),
        case("empty_pattern", "RegexFullMatch", [text(["", "a"])], pattern=""),
    )
