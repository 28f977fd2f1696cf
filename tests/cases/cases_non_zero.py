"""NonZero and Compress."""
from case import NAN, b, case, f16, f32, f64, full, i32, i64, join, ramp, text, u8


def cases():
    return join(
        case("bool", "NonZero", [b([[1, 0], [1, 1]])]),
        case("three_axes", "NonZero", [b([[[0, 1, 0], [0, 1, 0]], [[0, 1, 0], [0, 1, 0]]])]),
        case("none", "NonZero", [i32(full((2, 2), 0))]),
        # The standard: a scalar has no axis, so no rows; NumPy refuses it.
        case("scalar_true", "NonZero", [i64(5)], expected=[i64([], (0, 1))]),
        case("scalar_false", "NonZero", [0], expected=[i64([], (0, 0))]),
        case("empty", "NonZero", [f32([], (2, 0, 3))]),
        case("float16", "NonZero", [f16([0, 1, 0])]),
        case("nan", "NonZero", [f64([NAN, 0])]),
        case("uint8", "NonZero", [u8([0, 3])]),
        case("complex", "NonZero", [[complex(0, 0), complex(0, 1)]], types="c64"),
        case("string", "NonZero", [text(["", "a"])]),
        case("rows", "Compress", [ramp((3, 2)), b([0, 1, 1])], axis=0),
        case("columns", "Compress", [ramp((3, 2)), b([0, 1])], axis=1),
        case("flat", "Compress", [ramp((3, 2)), b([0, 1, 0, 0, 1])]),
        case("negative_axis", "Compress", [ramp((2, 3)), b([1, 0, 1])], axis=-1),
        case("short", "Compress", [[0, 1, 2, 3], b([1])]),
        case("compress_none", "Compress", [[[0, 1], [2, 3]], b([0, 0])], axis=0),
        case("compress_string", "Compress", [text(["a", "b", "c"]), b([1, 0, 1])], axis=0),
        case("long_but_false", "Compress", [[0, 1], b([0, 1, 0, 0])], axis=0),
        case("empty_condition", "Compress", [[[0, 1], [2, 3]], b([])], axis=1),
    )
