"""Cast, CastLike and BitCast."""
from case import INF, NAN, array, b, bf16, case, f16, f32, f64, i32, i64, i8, join, text

# Number types and their numbers in the standard.
NUMBERS = {
    "f32": 1, "u8": 2, "i8": 3, "u16": 4, "i16": 5, "i32": 6, "i64": 7, "b": 9, "f16": 10, "f64": 11, "u32": 12, "u64": 13,
    "bf16": 16,
}
X1 = [[0, -0.0, 1, -1.5, 0.3, 448, 1000, -1e+06, NAN, INF, -INF, 0.001]]
X2 = [[0, -0.0, 1, -1.5, 0.3, 7.75, 1000, -1e+06, INF, -INF, 0.0625, 0.1875, 26, 0.03]]


def cases():
    return join(
        *(case(f"to_{to}", "Cast", [[0, 1]], to=number, types=" ".join(NUMBERS), rtol=1e-5) for to, number in NUMBERS.items()),
        case("truncate", "Cast", [[1.9, -1.9, -0.5]], to=6),
        case("int_wraps", "Cast", [[200, -129, 256]], to=3, types="i16"),
        case("float_to_uint8_wraps", "Cast", [[-1, 300]], to=2),
        case("nan_to_bool", "Cast", [[NAN, -0.0, 1e-40]], to=9),
        case("float_to_int64", "Cast", [f64([-9.223372036854776e+18, 9007199254740992])], to=7),
        case("double_to_float", "Cast", [f64([1e+300, -1e+300, 0.1, NAN])], to=1),
        case("float_to_half", "Cast", [[65504, 65520, 1e-08, -6e-08, 2049, INF]], to=10, rtol=0, atol=0),
        case("double_to_half_once", "Cast", [f64([1.0004882812509095])], to=10, rtol=0, atol=0),
        # NumPy rounds to float32 first; this is the nearest number.
        case(
            "double_to_bfloat16_once", "Cast", [f64([1.0039062500009095])], to=16, expected=[bf16([1.00781])],
            rtol=0, atol=0,
        ),
        case("int32_to_float", "Cast", [i32([16777217, -2147483648])], to=1),
        case("same", "Cast", [[NAN, 1]], to=1),
        case("empty", "Cast", [f32([], (0, 2))], to=7),
        case("scalar", "Cast", [i64(7)], to=1),
        case("like", "CastLike", [[1.5, -2], array([0], "i16")]),
        case("float_to_e4m3_1", "Cast", X1, saturate=1, to=17, rtol=0, atol=0),
        case("float_to_e4m3_0", "Cast", X1, saturate=0, to=17, rtol=0, atol=0),
        case("e", "Cast", [[0, 1, -1.5, 0.25, NAN]], to=1, types="f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz"),
        case("e_2", "Cast", [[0, 1, -1.5, 0.25, NAN]], to=10, types="f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz"),
        case("e_3", "Cast", [[0, -1.5, 3]], to=3, types="f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz"),
        case("float_to_e4m3z_1", "Cast", X1, saturate=1, to=18, rtol=0, atol=0),
        case("float_to_e4m3z_0", "Cast", X1, saturate=0, to=18, rtol=0, atol=0),
        case("float_to_e5m2_1", "Cast", X1, saturate=1, to=19, rtol=0, atol=0),
        case("float_to_e5m2_0", "Cast", X1, saturate=0, to=19, rtol=0, atol=0),
        case("float_to_e5m2z_1", "Cast", X1, saturate=1, to=20, rtol=0, atol=0),
        case("float_to_e5m2z_0", "Cast", X1, saturate=0, to=20, rtol=0, atol=0),
        case("e4m3_to_e5m2", "Cast", [[1, -0.5, 448]], to=19, types="f8e4m3fn", rtol=0, atol=0),
        # NumPy rounds to float32 first; this is the nearest number.
        case(
            "double_to_e5m2_once", "Cast", [f64([1.1250000000009095])], to=19, expected=[array([1.25], "f8e5m2")],
            rtol=0, atol=0,
        ),
        case("float_to_e8m0_up", "Cast", [[1, 1.25, 2.5, 3, 6]], round_mode="up", to=24, rtol=0, atol=0),
        case("float_to_e8m0_down", "Cast", [[1, 1.25, 2.5, 3, 6]], round_mode="down", to=24, rtol=0, atol=0),
        case("float_to_e8m0_nearest", "Cast", [[1, 1.25, 2.5, 3, 6]], round_mode="nearest", to=24, rtol=0, atol=0),
        case("e8m0_to_float", "Cast", [[1, 0.25, 1024, NAN]], to=1, types="f8e8m0"),
        case("kInt4_to_float", "Cast", [[-8, 7, 0, 1, 1]], to=1, types="i4"),
        case("cast_14", "Cast", [[-8, 7, 0, 1, 1]], to=22, types="f32 i32"),
        case("kInt4_to_int64", "Cast", [[-8, 7, 0, 1, 1]], to=7, types="i4"),
        case("kInt4_to_half", "Cast", [[-8, 7, 0, 1, 1]], to=10, types="i4"),
        case("kUint4_to_float", "Cast", [[0, 15, 0, 1, 1]], to=1, types="u4"),
        case("cast_15", "Cast", [[0, 15, 0, 1, 1]], to=21, types="f32 i32"),
        case("kUint4_to_int64", "Cast", [[0, 15, 0, 1, 1]], to=7, types="u4"),
        case("kUint4_to_half", "Cast", [[0, 15, 0, 1, 1]], to=10, types="u4"),
        case("kInt2_to_float", "Cast", [[-2, 1, 0, 1, 1]], to=1, types="i2"),
        case("cast_16", "Cast", [[-2, 1, 0, 1, 1]], to=26, types="f32 i32"),
        case("kInt2_to_int64", "Cast", [[-2, 1, 0, 1, 1]], to=7, types="i2"),
        case("kInt2_to_half", "Cast", [[-2, 1, 0, 1, 1]], to=10, types="i2"),
        case("kUint2_to_float", "Cast", [[0, 3, 0, 1, 1]], to=1, types="u2"),
        case("cast_17", "Cast", [[0, 3, 0, 1, 1]], to=25, types="f32 i32"),
        case("kUint2_to_int64", "Cast", [[0, 3, 0, 1, 1]], to=7, types="u2"),
        case("kUint2_to_half", "Cast", [[0, 3, 0, 1, 1]], to=10, types="u2"),
        case("float_to_float4", "Cast", [[0, 0.5, -1, 1.5, 2, 3, 4, -6, 0.25, 0.3, 5, 100]], to=23),
        case("float4_to_float", "Cast", [[0, 0.5, -1, 1.5, 2, 3, 4]], to=1, types="f4e2m1"),
        case("float_to_float6e2m3", "Cast", X2, to=27),
        case("float_to_float6e3m2", "Cast", X2, to=28),
        case("float6e2m3_to_float", "Cast", [[0, 0.125, 1, 1.125, 2, 7.5, -7.5]], to=1, types="f6e2m3"),
        case(
            "float6e3m2_to_half", "Cast", [[0, 0.0625, 0.25, 0.625, 2, 28, -28]], to=10, types="f6e3m2", rtol=0,
            atol=0,
        ),
        case("float6e3m2_to_float6e2m3", "Cast", [[0.0625, 0.1875, 0.625, 4, -28]], to=27, types="f6e3m2"),
        # The evaluator does not cast these types.
        case(
            "int4_to_float6e2m3", "Cast", [[-8, 3, 7]], to=27, expected=[array([-7.5, 3, 7], "f6e2m3")], types="i4",
        ),
        case(
            "float6e2m3_to_string", "Cast", [[0.125, -7.5]], to=8, expected=[text(["0.125", "-7.5"])],
            types="f6e2m3",
        ),
        case(
            "string_to_float6e3m2", "Cast", [text(["0.3", "-100"])], to=28,
            expected=[array([0.3125, -28], "f6e3m2")],
        ),
        case("int4_to_uint4", "Cast", [[-1, 3, 7]], to=21, expected=[array([15, 3, 7], "u4")], types="i4"),
        case(
            "float_to_string", "Cast", [[1, -0.5, 0.1, 1e-05, 1e+20, NAN, INF, -INF, 0, 123456.79]], to=8,
            by="reference",
        ),
        case("double_to_string", "Cast", [f64([0.1, 3.141592653589793, 1e+16])], to=8),
        # Text is what NumPy prints of a float16.
        case("half_to_string", "Cast", [f16([0.1, 6.55e+04])], to=8, expected=[text(["0.1", "65500.0"])]),
        case("int_to_string", "Cast", [i64([-9223372036854775808, 0, 42])], to=8),
        case("uint64_to_string", "Cast", [[18446744073709551615]], to=8, types="u64"),
        case("bool_to_string", "Cast", [b([1, 0])], to=8),
        # The evaluator does not cast these types.
        case("int4_to_string", "Cast", [[-8, 7]], to=8, expected=[text(["-8", "7"])], types="i4"),
        case(
            "string_to_float", "Cast", [text(["3.14", "1000", "1e-5", "1E8", "INF", "+inf", "-Inf", "nan", " 2 "])],
            to=1,
        ),
        case("string_to_double", "Cast", [text(["0.1", "1e400", "-1e400", "1e-400"])], to=11),
        case("string_to_int64", "Cast", [text(["-9223372036854775808", "42", "100.5"])], to=7, by="onnxruntime"),
        case("string_to_uint64", "Cast", [text(["18446744073709551615"])], to=13),
        # Text is a bool as the number that it stands for is one.
        case("string_to_bool", "Cast", [text(["True", "false", "1", "0"])], to=9, expected=[b([1, 0, 1, 0])]),
        case("string_to_half", "Cast", [text(["0.5"])], to=10),
        case("string_to_string", "Cast", [text(["a"])], to=8),
        case("float_bits", "BitCast", [[1, -0.0]], to=6, by="reference"),
        case("double_bits", "BitCast", [f64([1])], to=13),
        case("int8_bits", "BitCast", [i8([-1, 5])], to=2),
        case("half_bits", "BitCast", [f16([1])], to=4, by="reference"),
        case("int4_bits", "BitCast", [[-1, 1, 7]], to=21, types="i4"),
    )
