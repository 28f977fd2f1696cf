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
        *(
            case(f"{op.lower()}_{(axis + 1) % 4}_{last}", op, X1, axis=axis, keepdims=last, select_last_index=last)
            for op in ("ArgMax", "ArgMin") for axis in (0, 1, 2, -1) for last in (0, 1)
        ),
        case("nan_first", "ArgMax", [[1, NAN, 3, NAN]]),
        case("nan_min", "ArgMin", [[1, NAN, 3]]),
        case("scalar", "ArgMax", [3], keepdims=0),
        case("empty", "ArgMax", [f32([], (0, 2))], axis=1),
    )
