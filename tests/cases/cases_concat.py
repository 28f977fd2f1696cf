"""Concat and Split."""
from case import case, f32, i64, i8, join, ramp, text, u8


def cases():
    return join(
        case("rows", "Concat", [[[0, 1, 2]], ramp((2, 3))], axis=0),
        case("columns", "Concat", [[[0], [1]], ramp((2, 3)), [[0, 1], [2, 3]]], axis=1),
        case("negative", "Concat", [[[[0], [1]], [[2], [3]]], ramp((2, 2, 2))], axis=-1),
        case("one", "Concat", [[[0, 1], [2, 3]]], axis=0),
        case("empty_part", "Concat", [[[0, 1], [2, 3]], [[], []], [[0], [1]]], axis=1),
        case("all_empty", "Concat", [i8([], (0, 2)), i8([], (0, 2))], axis=0, types="i8"),
        case("string", "Concat", [["a"], ["b", "c"]], axis=0, types="text"),
        case("middle", "Concat", [[[[0, 1]], [[2, 3]]], ramp((2, 2, 2))], axis=1, types="i64"),
        case("bool", "Concat", [[1], [0, 1]], axis=0, types="b"),
        case("complex64", "Concat", [[complex(1, 1)], [complex(1, 1)]], axis=0, types="c64"),
        case("int16", "Concat", [[[1], [2]], [[3, 4], [5, 6]]], axis=1, types="i16"),
        case("even", "Split", [ramp((2, 6))], axis=1, num_outputs=3, outputs=3),
        case("uneven", "Split", [ramp((7,))], axis=0, num_outputs=3, outputs=3),
        case("sizes", "Split", [ramp((2, 6)), i64([1, 0, 5])], axis=-1, outputs=3),
        case("split_rows", "Split", [ramp((4, 2)), [1, 3]], axis=0, outputs=2, types="i64"),
        case("split_string", "Split", [text(["a", "b", "c"]), i64([2, 1])], axis=0, outputs=2),
        case("empty", "Split", [f32([], (0, 2))], axis=0, num_outputs=2, outputs=2),
        case("split_one", "Split", [[0, 1, 2]], axis=0, num_outputs=1),
        case("uneven_many", "Split", [[0, 1, 2, 3]], axis=0, num_outputs=3, outputs=3),
        case("uint8", "Split", [u8(ramp((2, 2, 3))), i64([1, 1])], axis=1, outputs=2),
    )
