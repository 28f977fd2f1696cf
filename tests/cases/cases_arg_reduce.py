"""ArgMax and ArgMin."""
from case import NAN, case, f32, join

X1 = [[[[3, 1, 0, 0], [1, 1, 1, 3]], [[3, 2, 3, 1], [0, 1, 0, 3]], [[0, 1, 0, 3], [0, 2, 3, 2]]]]


def cases():
    return join(
        case(
            "argmax", "ArgMax", [[[1, 3, 2], [6, 5, 4]]], axis=1, keepdims=0,
            types="f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64",
        ),
        case(
            "argmin", "ArgMin", [[[1, 3, 2], [6, 5, 4]]], axis=1, keepdims=0,
            types="f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64",
        ),
        case("argmax_1_0", "ArgMax", X1, axis=0, keepdims=0, select_last_index=0),
        case("argmax_1_1", "ArgMax", X1, axis=0, keepdims=1, select_last_index=1),
        case("argmax_2_0", "ArgMax", X1, axis=1, keepdims=0, select_last_index=0),
        case("argmax_2_1", "ArgMax", X1, axis=1, keepdims=1, select_last_index=1),
        case("argmax_3_0", "ArgMax", X1, axis=2, keepdims=0, select_last_index=0),
        case("argmax_3_1", "ArgMax", X1, axis=2, keepdims=1, select_last_index=1),
        case("argmax_0_0", "ArgMax", X1, axis=-1, keepdims=0, select_last_index=0),
        case("argmax_0_1", "ArgMax", X1, axis=-1, keepdims=1, select_last_index=1),
        case("argmin_1_0", "ArgMin", X1, axis=0, keepdims=0, select_last_index=0),
        case("argmin_1_1", "ArgMin", X1, axis=0, keepdims=1, select_last_index=1),
        case("argmin_2_0", "ArgMin", X1, axis=1, keepdims=0, select_last_index=0),
        case("argmin_2_1", "ArgMin", X1, axis=1, keepdims=1, select_last_index=1),
        case("argmin_3_0", "ArgMin", X1, axis=2, keepdims=0, select_last_index=0),
        case("argmin_3_1", "ArgMin", X1, axis=2, keepdims=1, select_last_index=1),
        case("argmin_0_0", "ArgMin", X1, axis=-1, keepdims=0, select_last_index=0),
        case("argmin_0_1", "ArgMin", X1, axis=-1, keepdims=1, select_last_index=1),
        case("nan_first", "ArgMax", [[1, NAN, 3, NAN]]),
        case("nan_min", "ArgMin", [[1, NAN, 3]]),
        case("scalar", "ArgMax", [3], keepdims=0),
        case("empty", "ArgMax", [f32([], (0, 2))], axis=1),
    )
