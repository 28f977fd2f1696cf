"""Clip."""
from case import INF, NAN, case, i32, join


def cases():
    return join(
        case("clip", "Clip", [[0, 3, 9], 1, 5], types="f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64"),
        case("no_bounds", "Clip", [[-INF, -2, 0, 7, INF, NAN]]),
        case("only_min", "Clip", [[-INF, -2, 0, 7, INF, NAN], 0]),
        case("only_max", "Clip", [[-INF, -2, 0, 7, INF, NAN], None, 1]),
        case("min_above_max", "Clip", [[0, 2, 9], 5, 1]),
        case("scalar", "Clip", [9, 0, 5]),
        case("empty", "Clip", [i32([], (0, 2)), 0], types="i32"),
    )
