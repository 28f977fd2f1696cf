"""Identity, Reshape, Flatten, Squeeze and Unsqueeze."""
from case import case, f32, f64, i64, i8, join, ramp, text


def cases():
    return join(
        case("float32", "Identity", [[[1, -2], [3, 4]]]),
        case("scalar_string", "Identity", [text("a")]),
        case("empty", "Identity", [i64([], (0, 3))]),
        case("int4", "Identity", [[-8, 7, 1]], types="i4"),
        case("copy_and_infer", "Reshape", [ramp((2, 3, 4)), i64([0, -1])]),
        case("to_scalar", "Reshape", [[[0]], i64([])]),
        case("from_scalar", "Reshape", [0, i64([1, 1, -1])]),
        case("empty_zero", "Reshape", [f32([], (0, 3)), i64([3, 0])], allowzero=1),
        case("string", "Reshape", [text(["a", "bc", "def", ""]), i64([2, 2])]),
        case("copied_zero", "Reshape", [i8([], (0, 3)), i64([0, 1, 3])]),
        case("rank7", "Reshape", [ramp((2, 3)), i64([1, 2, 1, 1, 3, 1, 1])]),
        case("uint2", "Reshape", [[0, 1, 2, 3, 3, 2], i64([2, 3])], types="u2"),
        case("default_axis", "Flatten", [ramp((2, 3, 2))]),
        case("axis_0", "Flatten", [ramp((2, 3))], axis=0),
        case("axis_rank", "Flatten", [ramp((2, 3))], axis=2),
        case("negative_axis", "Flatten", [ramp((2, 3, 2))], axis=-1),
        case("scalar", "Flatten", [0], axis=0),
        case("flatten_empty", "Flatten", [f32([], (0, 3, 2))], axis=1, by="onnxruntime"),
        case("axes", "Squeeze", [[[[0], [1], [2]]], i64([-1])]),
        case("all_ones", "Squeeze", [[[[0], [1], [2]]]]),
        case("squeeze_to_scalar", "Squeeze", [text([["x"]]), i64([0, 1])]),
        case("no_axes", "Squeeze", [[[0, 1]], i64([])]),
        case("unsorted", "Unsqueeze", [ramp((2, 3)), i64([3, -4])]),
        case("unsqueeze_scalar", "Unsqueeze", [0, i64([0])]),
        case("unsqueeze_empty", "Unsqueeze", [f64([]), i64([1])]),
    )
