"""Pad."""
from case import b, case, f32, i32, i64, join, ramp


def cases():
    return join(
        case("default_mode", "Pad", [ramp((2, 3)), i64([0, 2, 1, 0])]),
        case("value", "Pad", [[[0, 1], [2, 3]], i64([1, 1, 1, 1]), 9.5], mode="constant"),
        case("axes", "Pad", [ramp((2, 2, 2)), i64([1, 2]), -1, i64([-2])], mode="constant"),
        case("axes_int32", "Pad", [ramp((2, 3)), i64([1, 1, 0, 2]), None, i32([1, 0])], mode="constant"),
        case("outer_only", "Pad", [ramp((2, 3)), i64([1, 0, 1, 0]), 7], mode="constant"),
        case("none", "Pad", [[[0, 1], [2, 3]], i64([0, 0, 0, 0])], mode="constant"),
        case("negative", "Pad", [ramp((3, 4)), i64([-1, -1, 0, 2]), 5], mode="constant", by="onnxruntime"),
        case("negative_all", "Pad", [[[0, 1], [2, 3]], i64([-1, 0, -1, 0])], mode="constant", by="onnxruntime"),
        case("reflect", "Pad", [ramp((3, 4)), i64([1, 2, 2, 1])], mode="reflect"),
        case("reflect_4d", "Pad", [ramp((1, 2, 2, 3)), i64([0, 0, 1, 1, 0, 0, 1, 2])], mode="reflect"),
        case("edge", "Pad", [ramp((3, 4)), i64([1, 2, 2, 1])], mode="edge"),
        case("edge_4d", "Pad", [ramp((1, 2, 2, 3)), i64([0, 0, 1, 1, 0, 0, 1, 2])], mode="edge"),
        case("wrap", "Pad", [ramp((3, 4)), i64([1, 2, 2, 1])], mode="wrap"),
        case("wrap_4d", "Pad", [ramp((1, 2, 2, 3)), i64([0, 0, 1, 1, 0, 0, 1, 2])], mode="wrap"),
        case("reflect_far", "Pad", [[[0, 1, 2]], i64([0, 5, 0, 4])], mode="reflect"),
        case("reflect_one", "Pad", [[[0]], i64([0, 2, 0, 1])], mode="reflect"),
        case("edge_cut", "Pad", [[0, 1, 2, 3, 4], i64([-1, 2])], mode="edge", by="onnxruntime"),
        case("wrap_far", "Pad", [[0, 1, 2], i64([4, 5])], mode="wrap"),
        case("string", "Pad", [["a", "b"], i64([1, 2]), "z"], mode="constant", types="text"),
        # Strings are padded with empty ones; the evaluator takes the number 0.
        case("string_default", "Pad", [["a"], i64([0, 1])], mode="constant", expected=[["a", ""]], types="text"),
        case("bool", "Pad", [b([1]), i64([1, 1])], mode="constant"),
        case("int64", "Pad", [[1, 2], [1, 0], -5], mode="constant", types="i64"),
        # NumPy does not pad a scalar, which has no axis to pad.
        case("scalar", "Pad", [0, i64([])], expected=[0]),
        case("empty", "Pad", [f32([], (0, 2)), i64([1, 0, 1, 0]), 3], mode="constant"),
        case("float16", "Pad", [[1, 2], i64([1, 1]), 0.5], mode="constant", types="f16", rtol=1e-05),
        case("complex128", "Pad", [[complex(0, 1)], i64([1, 0])], mode="constant", types="c128"),
        case("int4", "Pad", [[1, -2, 3], i64([2, 1]), -8], types="i4"),
        case("uint2_edge", "Pad", [[1, 3], i64([1, 2])], mode="edge", types="u2"),
    )
