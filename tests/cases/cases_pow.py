"""Pow."""
from case import FLOATS, INF, array, bf16, case, f16, f32, f64, i32, i64, i8, join, u8


def cases():
    return join(
        case("same", "Pow", [[2, 3, 0.5, -2, 0], [3, 0.5, -1, 3, 0]], types=FLOATS),
        case("scalar_0", "Pow", [[0, -0.0, 2, 4, INF, -INF], 2], types=FLOATS),
        case("scalar_1", "Pow", [[0, -0.0, 2, 4, INF], 0.5], types=FLOATS),
        case("scalar_2", "Pow", [[0, -0.0, 2, 4, INF, -INF], 3], types=FLOATS),
        case("scalar_3", "Pow", [[0, -0.0, 2, 4, INF, -INF], -1], types=FLOATS),
        case("scalar_4", "Pow", [[0, -0.0, 2, 4, INF, -INF], 0], types=FLOATS),
        case("sqrt_minus_infinity", "Pow", [[-INF, -0.0], 0.5], by="onnxruntime"),
        case("scalar_base", "Pow", [2, [1, 2, 3]]),
        case("broadcast", "Pow", [[[1], [2]], [1, 2, 3]]),
        case("float_f32", "Pow", [[2, 3, -2], [3, 2, 1]]),
        case("float_f64", "Pow", [[2, 3, -2], f64([3, 2, 1])]),
        case("float_f16", "Pow", [[2, 3, -2], f16([3, 2, 1])]),
        case("float_bf16", "Pow", [[2, 3, -2], bf16([3, 2, 1])]),
        case("float_i8", "Pow", [[2, 3, -2], i8([3, 2, 1])]),
        case("float_i16", "Pow", [[2, 3, -2], array([3, 2, 1], "i16")]),
        case("pow", "Pow", [[2, 3, -2], i32([3, 2, 1])], types=FLOATS),
        case("float_i64", "Pow", [[2, 3, -2], i64([3, 2, 1])]),
        case("float_u8", "Pow", [[2, 3, -2], u8([3, 2, 1])]),
        case("float_u16", "Pow", [[2, 3, -2], array([3, 2, 1], "u16")]),
        case("float_u32", "Pow", [[2, 3, -2], array([3, 2, 1], "u32")]),
        case("float_u64", "Pow", [[2, 3, -2], array([3, 2, 1], "u64")]),
        case("i", "Pow", [[2, -3, 0, 7], i8([3, 3, 0, 1])], types="i32 i64"),
        case("i_2", "Pow", [[2, -3, 0, 7], array([3, 3, 0, 1], "i16")], types="i32 i64"),
        case("i_3", "Pow", [[2, -3, 0, 7], i32([3, 3, 0, 1])], types="i32 i64"),
        case("i_4", "Pow", [[2, -3, 0, 7], i64([3, 3, 0, 1])], types="i32 i64"),
        case("i_5", "Pow", [[2, -3, 0, 7], u8([3, 3, 0, 1])], types="i32 i64"),
        case("i_6", "Pow", [[2, -3, 0, 7], array([3, 3, 0, 1], "u16")], types="i32 i64"),
        case("i_7", "Pow", [[2, -3, 0, 7], array([3, 3, 0, 1], "u32")], types="i32 i64"),
        case("i_8", "Pow", [[2, -3, 0, 7], array([3, 3, 0, 1], "u64")], types="i32 i64"),
        case("i_9", "Pow", [[2, -3, 9], f32([3, 2, 0.5])], types="i32 i64"),
        case("i_10", "Pow", [[2, -3, 9], f64([3, 2, 0.5])], types="i32 i64"),
        case("i_11", "Pow", [[2, -3, 9], f16([3, 2, 0.5])], types="i32 i64"),
        case("i_12", "Pow", [[2, -3, 9], bf16([3, 2, 0.5])], types="i32 i64"),
        # Truncated towards zero; NumPy refuses negative powers of integers.
        case("i_13", "Pow", [[1, -1, -1, 2, 0], [-3, -3, -2, -1, -1]], expected=[[1, -1, 1, 0, 0]], types="i32 i64"),
        case("int32_wraps", "Pow", [[3], [21]], types="i32"),
    )
