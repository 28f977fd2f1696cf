"""Unique."""
from case import NAN, b, case, f16, f64, i32, i64, i8, join, text, u8


def cases():
    return join(
        case("flat", "Unique", [[2, 1, 1, 3, 4, 3]], outputs=4),
        case("unsorted", "Unique", [[2, 1, 1, 3, 4, 3]], sorted=0, outputs=4),
        case("rows", "Unique", [[[1, 0, 0], [1, 0, 0], [2, 3, 4]]], axis=0, outputs=4),
        case("columns", "Unique", [i32([[1, 0, 0], [1, 0, 0], [2, 3, 3]])], axis=-1, outputs=4),
        case("rows_unsorted", "Unique", [i8([[2, 3], [1, 0], [2, 3]])], axis=0, sorted=0, outputs=4),
        case(
            "three_axes", "Unique", [f64([[[1, 1], [0, 1], [2, 1], [0, 1]], [[1, 1], [0, 1], [2, 1], [0, 1]]])],
            axis=1, outputs=4,
        ),
        case("strings", "Unique", [text(["b", "a", "b", ""])], outputs=4),
        case("one", "Unique", [u8([7])], outputs=4),
        case("bool", "Unique", [b([1, 0, 1])], outputs=4),
        case("empty", "Unique", [i64([])], outputs=4),
        case("nan", "Unique", [[NAN, 1, NAN]], outputs=4),
        case("float16", "Unique", [f16([2, 1, 2])], outputs=4, rtol=1e-05),
        case("only_values", "Unique", [i64([3, 1, 3])], outputs="1001"),
    )
