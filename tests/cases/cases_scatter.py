"""ScatterElements, ScatterND and TensorScatter."""
from case import NAN, case, f32, full, i32, i64, join, ramp


def cases():
    return join(
        case(
            "rows", "ScatterElements",
            [full((3, 3), 0), i64([[1, 0, 2], [0, 2, 1]]), [[1, 1.1, 1.2], [2, 2.1, 2.2]]], axis=0,
        ),
        case("columns", "ScatterElements", [[[0, 1, 2, 3, 4]], i64([[1, 3]]), [[11, 21]]], axis=1),
        case("negative_int32", "ScatterElements", [[[0, 1, 2, 3, 4]], i32([[1, -3]]), [[11, 21]]], axis=1),
        case(
            "add_twice", "ScatterElements", [[[0, 1, 2, 3, 4]], i64([[1, 1]]), [[11, 21]]], axis=1, reduction="add",
        ),
        case("mul", "ScatterElements", [[[0, 1, 2, 3, 4]], i64([[1, 1]]), [[3, 2]]], axis=1, reduction="mul"),
        case("max", "ScatterElements", [[0, 1, 2, 3, 4], i64([2, 2]), [1, 9]], axis=0, reduction="max"),
        case("min", "ScatterElements", [[0, 1, 2, 3, 4], i64([2, 2]), [1, 9]], axis=0, reduction="min"),
        case("last_wins", "ScatterElements", [[0, 1, 2], i64([1, 1]), [8, 9]], axis=0),
        case("string", "ScatterElements", [["a", "b"], i64([1]), ["z"]], axis=0, types="text"),
        case("empty", "ScatterElements", [[0, 1, 2], i64([]), []], axis=0),
        case(
            "uint8_wraps", "ScatterElements", [[250, 1], i64([0, 0]), [10, 10]], axis=0, reduction="add",
            types="u8",
        ),
        case(
            "int64_wraps", "ScatterElements", [[4611686018427387904, 1], [0], [4]], axis=0, reduction="mul",
            types="i64",
        ),
        case(
            "float16_add", "ScatterElements", [[1, 2], i64([1, 0]), [0.5, 0.25]], axis=0, reduction="add",
            types="f16", rtol=1e-05,
        ),
        case("bool_max", "ScatterElements", [[0, 1], i64([0]), [1]], axis=0, reduction="max", types="b"),
        case(
            "three_axes", "ScatterElements", [ramp((2, 2, 2)), i64([[[1, 0]], [[0, 1]]]), [[[10, 20]], [[30, 40]]]],
            axis=1,
        ),
        case("smaller_indices", "ScatterElements", [ramp((3, 3)), i64([[2, 1]]), [[7, 8]]], axis=0),
        case("int8_min", "ScatterElements", [[-5, 5], i64([1, 1]), [-7, 3]], axis=0, reduction="min", types="i8"),
        case("nan_max", "ScatterElements", [[1, 2], i64([0]), [NAN]], axis=0, reduction="max", by="onnxruntime"),
        case(
            "complex_add", "ScatterElements", [[complex(0, 1), complex(2, 0)], i64([0]), [complex(1, 1)]], axis=0,
            reduction="add", types="c64",
        ),
        case("elements", "ScatterND", [ramp((8,)), i64([[4], [3], [1], [7]]), [9, 10, 11, 12]]),
        case("slices", "ScatterND", [ramp((4, 2, 2)), i64([[0], [2]]), [[[5, 5], [6, 6]], [[1, 2], [3, 4]]]]),
        case("negative", "ScatterND", [[[0, 1], [2, 3]], i64([[-1, 0]]), [9]]),
        case(
            "scatter_nd_add_twice", "ScatterND", [ramp((4, 2)), i64([[1], [1]]), [[1, 1], [10, 10]]],
            reduction="add",
        ),
        case("scatter_nd_mul", "ScatterND", [[0, 1, 2, 3], i64([[1], [3]]), [2, 3]], reduction="mul"),
        case("scatter_nd_max", "ScatterND", [[0, 1, 2, 3], i64([[1], [3]]), [2, 0]], reduction="max"),
        case("scatter_nd_min", "ScatterND", [[0, 1, 2, 3], i64([[1], [3]]), [0.5, 9]], reduction="min"),
        case("scatter_nd_empty", "ScatterND", [[0, 1, 2, 3], i64([], (0, 1)), []]),
        case("whole", "ScatterND", [[0, 1], i64([[]]), [[7, 8]]]),
        case("scatter_nd_string", "ScatterND", [["a", "b", "c"], i64([[2], [0]]), ["x", "y"]], types="text"),
        case("scatter_nd_last_wins", "ScatterND", [[0, 1, 2], i64([[0], [0]]), [5, 6]]),
        case("index_matrix", "ScatterND", [ramp((3, 3)), i64([[[0, 1], [2, 2]]]), [[7, 8]]]),
        case("linear", "TensorScatter", [ramp((2, 4, 2)), [[[-1, -2]], [[-3, -4]]], i64([1, 3])]),
        case(
            "default_start", "TensorScatter",
            [ramp((2, 1, 3, 2)), [[[[-0.0, -1], [-2, -3]]], [[[-4, -5], [-6, -7]]]]],
        ),
        case("circular", "TensorScatter", [ramp((2, 4, 2)), ramp((2, 3, 2), -1, -1), i64([2, 3])], mode="circular"),
        case("axis", "TensorScatter", [ramp((2, 2, 3)), [[[-1], [-2]], [[-3], [-4]]], i64([0, 2])], axis=2),
        case("no_steps", "TensorScatter", [[[[0, 1], [2, 3]]], f32([], (1, 0, 2)), i64([1])]),
        case("int4", "TensorScatter", [[[[1], [2], [3]]], [[[-4]]], i64([1])], types="i4"),
    )
