"""Equal, Less, LessOrEqual, Greater, GreaterOrEqual, And, Or and Xor."""
from case import FLOATS, INF, NAN, case, join


def cases():
    return join(
        case("equal", "Equal", [[1, 2, 3, -3, NAN, INF], [1, 3, 2, -3, NAN, INF]], types=FLOATS),
        case("less", "Less", [[1, 2, 3, -3, NAN, INF], [1, 3, 2, -3, NAN, INF]], types=FLOATS),
        case("lessorequal", "LessOrEqual", [[1, 2, 3, -3, NAN, INF], [1, 3, 2, -3, NAN, INF]], types=FLOATS),
        case("greater", "Greater", [[1, 2, 3, -3, NAN, INF], [1, 3, 2, -3, NAN, INF]], types=FLOATS),
        case("greaterorequal", "GreaterOrEqual", [[1, 2, 3, -3, NAN, INF], [1, 3, 2, -3, NAN, INF]], types=FLOATS),
        case("equal", "Equal", [[1, 2, 3, -3], [1, 3, 2, -3]], types="i8 i16 i32 i64"),
        case("less", "Less", [[1, 2, 3, -3], [1, 3, 2, -3]], types="i8 i16 i32 i64"),
        case("lessorequal", "LessOrEqual", [[1, 2, 3, -3], [1, 3, 2, -3]], types="i8 i16 i32 i64"),
        case("greater", "Greater", [[1, 2, 3, -3], [1, 3, 2, -3]], types="i8 i16 i32 i64"),
        case("greaterorequal", "GreaterOrEqual", [[1, 2, 3, -3], [1, 3, 2, -3]], types="i8 i16 i32 i64"),
        case("equal", "Equal", [[1, 2, 3, 0], [1, 3, 2, 0]], types="u8 u16 u32 u64"),
        case("less", "Less", [[1, 2, 3, 0], [1, 3, 2, 0]], types="u8 u16 u32 u64"),
        case("lessorequal", "LessOrEqual", [[1, 2, 3, 0], [1, 3, 2, 0]], types="u8 u16 u32 u64"),
        case("greater", "Greater", [[1, 2, 3, 0], [1, 3, 2, 0]], types="u8 u16 u32 u64"),
        case("greaterorequal", "GreaterOrEqual", [[1, 2, 3, 0], [1, 3, 2, 0]], types="u8 u16 u32 u64"),
        case("and_bool", "And", [[1, 1, 0, 0], [1, 0, 1, 0]], types="b"),
        case("or_bool", "Or", [[1, 1, 0, 0], [1, 0, 1, 0]], types="b"),
        case("xor_bool", "Xor", [[1, 1, 0, 0], [1, 0, 1, 0]], types="b"),
        case("equal_bool", "Equal", [[1, 1, 0, 0], [1, 0, 1, 0]], types="b"),
        case("and_broadcast", "And", [[[1], [0]], [1, 0]], types="b"),
        case("equal_string", "Equal", [["a", "b", ""], ["a", "c", ""]], types="text"),
        case("equal_string_broadcast", "Equal", [[["a"], ["b"]], ["a", "b"]], types="text"),
        case(
            "less_large_int64", "Less",
            [[9007199254740992, -9223372036854775808], [9007199254740993, 9223372036854775807]], types="i64",
        ),
        case("zeros_equal", "Equal", [[0], [-0.0]]),
        case("empty", "Less", [[], 1]),
    )
