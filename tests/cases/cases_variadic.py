"""Max, Min, Sum and Mean."""
from case import FLOATS, INF, NAN, case, join


def cases():
    return join(
        case("max", "Max", [[1, 5, 3, NAN, 1], [4, 2, 3, 1, NAN], [0, 9, 1, 2, 2]], types=FLOATS),
        case("min", "Min", [[1, 5, 3, NAN, 1], [4, 2, 3, 1, NAN], [0, 9, 1, 2, 2]], types=FLOATS),
        case("sum", "Sum", [[1, 5, 3, NAN, 1], [4, 2, 3, 1, NAN], [0, 9, 1, 2, 2]], types=FLOATS),
        case("mean", "Mean", [[1, 5, 3, NAN, 1], [4, 2, 3, 1, NAN], [0, 9, 1, 2, 2]], types=FLOATS),
        case("max", "Max", [[1, 5, 3], [4, 2, 3], [0, 9, 1]], types="i8 i16 i32 i64 u8 u16 u32 u64"),
        case("min", "Min", [[1, 5, 3], [4, 2, 3], [0, 9, 1]], types="i8 i16 i32 i64 u8 u16 u32 u64"),
        case("max_one", "Max", [[1, -2]]),
        case("max_two", "Max", [[[1], [5]], [2, 3]]),
        case("max_grow", "Max", [3, [[1], [2]], [0, 6]]),
        case("max_empty", "Max", [[], 1]),
        case("min_one", "Min", [[1, -2]]),
        case("min_two", "Min", [[[1], [5]], [2, 3]]),
        case("min_grow", "Min", [3, [[1], [2]], [0, 6]]),
        case("min_empty", "Min", [[], 1]),
        case("sum_one", "Sum", [[1, -2]]),
        case("sum_two", "Sum", [[[1], [5]], [2, 3]]),
        case("sum_grow", "Sum", [3, [[1], [2]], [0, 6]]),
        case("sum_empty", "Sum", [[], 1]),
        case("mean_one", "Mean", [[1, -2]]),
        case("mean_two", "Mean", [[[1], [5]], [2, 3]], by="onnxruntime"),
        case("mean_grow", "Mean", [3, [[1], [2]], [0, 6]], by="onnxruntime"),
        case("mean_empty", "Mean", [[], 1]),
        case("max_infinities", "Max", [[-INF, INF], [1, 1]]),
    )
