"""Transpose."""
from case import b, case, f32, i32, i8, join, ramp, text, u8


def cases():
    return join(
        case("default", "Transpose", [ramp((2, 3, 4))]),
        case("heads", "Transpose", [ramp((1, 3, 2, 4))], perm=[0, 2, 1, 3]),
        case("nchw_nhwc", "Transpose", [ramp((2, 3, 2, 2))], perm=[0, 2, 3, 1]),
        case("same", "Transpose", [ramp((2, 3))], perm=[0, 1]),
        case("ones_move", "Transpose", [ramp((1, 3, 1, 2))], perm=[1, 0, 3, 2]),
        case("scalar", "Transpose", [0]),
        case("vector", "Transpose", [[0, 1, 2]]),
        case("empty", "Transpose", [f32([], (2, 0, 3))], perm=[2, 0, 1]),
        case("int8", "Transpose", [i8(ramp((5, 3)))]),
        case("transpose", "Transpose", [ramp((3, 5))], types="i16 f64"),
        case("string", "Transpose", [text([["a", "b", "c"], ["d", "e", ""]])]),
        case("bool", "Transpose", [b([[1, 0, 1]])]),
        case(
            "complex64", "Transpose", [[[complex(1, 2), complex(3, 0)], [complex(4, 0), complex(0, 5)]]],
            types="c64",
        ),
        case(
            "complex128", "Transpose",
            [[[complex(1, 2), complex(3, 0), complex(1, 0)], [complex(4, 0), complex(0, 5), complex(2, 0)]]],
            types="c128",
        ),
        case("blocks", "Transpose", [ramp((9, 10))]),
        case("blocks_batched", "Transpose", [i32(ramp((2, 6, 7)))], perm=[0, 2, 1]),
        case("five_axes", "Transpose", [i32(ramp((2, 3, 2, 2, 2)))], perm=[3, 1, 4, 0, 2]),
        case("rank7", "Transpose", [u8(ramp((2, 1, 2, 1, 2, 1, 2)))], perm=[6, 4, 5, 3, 2, 1, 0]),
        case("pairs", "Transpose", [u8(ramp((3, 2, 2)))], perm=[1, 0, 2]),
        case("int4", "Transpose", [[[-8, 7, 1], [2, -3, 4]]], perm=[1, 0], types="i4"),
        case("uint2", "Transpose", [[[0, 1, 2], [3, 2, 1]]], perm=[1, 0], types="u2"),
        case("uint4_same", "Transpose", [[[1, 2, 15]]], perm=[0, 1], types="u4"),
    )
