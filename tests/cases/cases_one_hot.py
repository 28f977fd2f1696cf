"""OneHot."""
from case import array, b, case, f32, f64, i32, i64, i8, join, text


def cases():
    return join(
        case("last", "OneHot", [[0, 7, 8], 10, f32([1, 3])], types="i64"),
        # The evaluator wants a depth of rank 0.
        case(
            "first_axis", "OneHot", [[[1, 9], [2, 4]], [10], i32([0, 1])], axis=0,
            expected=[
                i32(
                    [
                        [[0, 0], [0, 0]], [[1, 0], [0, 0]], [[0, 0], [1, 0]], [[0, 0], [0, 0]], [[0, 0], [0, 1]],
                        [[0, 0], [0, 0]], [[0, 0], [0, 0]], [[0, 0], [0, 0]], [[0, 0], [0, 0]], [[0, 1], [0, 0]],
                    ],
                ),
            ],
        ),
        case("negative", "OneHot", [[0, -7, -8], 8, f64([0, 1])], types="i64"),
        case("out_of_range", "OneHot", [i64([3, -4, 2]), i32(3), i8([5, 6])]),
        # The evaluator wants a depth of rank 0.
        case(
            "middle", "OneHot", [[[0, 1], [1, 0]], 2, b([0, 1])], axis=1,
            expected=[b([[[1, 0], [0, 1]], [[0, 1], [1, 0]]])], types="u8",
        ),
        case("string", "OneHot", [[1], 2, text(["off", "on"])], types="i64", by="onnxruntime"),
        case("scalar", "OneHot", [1, 3, f32([0, 1])], types="i64", by="reference"),
        case("no_depth", "OneHot", [[1, 2], 0, f32([0, 1])], types="i64"),
        case("empty", "OneHot", [[], 3, f32([0, 1])], types="i64"),
        case("negative_axis", "OneHot", [[[0], [1]], 2, array([0, 1], "u64")], axis=-2, types="i64"),
        case("float16", "OneHot", [[1], 2, [0, 1]], types="f16", rtol=1e-05),
    )
