"""Gather, GatherElements and GatherND."""
from case import b, case, f16, i32, i64, i8, join, ramp, text


def cases():
    return join(
        case("rows", "Gather", [ramp((3, 4)), i64([[0, 1], [1, 2]])], axis=0),
        case("columns", "Gather", [ramp((3, 4)), i64([0, 2])], axis=1),
        case("scalar_index", "Gather", [ramp((3, 4)), i64(1)], axis=0),
        case("negative", "Gather", [ramp((3, 4)), i64([-1, -3, 0])], axis=0),
        case("int32", "Gather", [ramp((3, 4)), i32([[1], [0]])], axis=-1),
        case("from_vector", "Gather", [[5, 6, 7], 2], axis=0, types="i64"),
        case("string", "Gather", [text(["a", "b", "c"]), i64([2, 0])], axis=0),
        case("no_indices", "Gather", [ramp((3, 4)), i64([], (0, 2))], axis=0),
        case("empty_rows", "Gather", [[[], []], i64([1, 1, 0])], axis=0),
        case("bool", "Gather", [b([1, 0]), i64([1, 1, 0])], axis=0),
        case("float16", "Gather", [f16([[1, 2], [3, 4]]), i64([1])], axis=0, rtol=1e-05),
        case("middle", "Gather", [ramp((2, 3, 2)), i64([[2, 0]])], axis=1),
        case("complex128", "Gather", [[complex(0, 1), complex(2, 0)], i64([1, 0])], axis=0, types="c128"),
        case("gather_elements_rows", "GatherElements", [ramp((3, 3)), i64([[1, 2, 0], [2, 0, 0]])], axis=0),
        case(
            "gather_elements_columns", "GatherElements", [ramp((3, 3)), i64([[0, 0], [1, 0]])], axis=1,
            by="onnxruntime",
        ),
        case("gather_elements_negative", "GatherElements", [ramp((3, 3)), i64([[-1, -2, 0], [-2, 0, 0]])], axis=0),
        case("int32_last", "GatherElements", [ramp((3, 3)), i32([[2], [1], [0]])], axis=-1, by="onnxruntime"),
        case("empty", "GatherElements", [ramp((3, 3)), i64([], (0, 3))], axis=0),
        case("gather_elements_string", "GatherElements", [text([["a", "b"], ["c", "d"]]), i64([[1, 0]])], axis=0),
        case("three_axes", "GatherElements", [ramp((2, 3, 2)), i64([[[2, 0], [1, 1]], [[0, 1], [2, 2]]])], axis=1),
        case("vector", "GatherElements", [i8([1, 2, 3]), i64([2, 2, 0, 1])], axis=0),
        case("elements", "GatherND", [[[0, 1], [2, 3]], i64([[0, 0], [1, 1]])], batch_dims=0),
        case("gather_nd_rows", "GatherND", [[[0, 1], [2, 3]], i64([[1], [0]])], batch_dims=0),
        case("slices", "GatherND", [ramp((2, 2, 2)), i64([[0, 1], [1, 0]])], batch_dims=0),
        case("batched", "GatherND", [ramp((2, 2, 2)), i64([[1], [0]])], batch_dims=1),
        case("gather_nd_negative", "GatherND", [[[0, 1], [2, 3]], i64([[-1, -2]])], batch_dims=0),
        case("deep", "GatherND", [ramp((2, 2, 2)), i64([[[0, 1]], [[1, 0]]])], batch_dims=0),
        case("batch_2d", "GatherND", [ramp((2, 3, 2)), i64([[[1], [2]], [[0], [-1]]])], batch_dims=1),
        case("gather_nd_empty", "GatherND", [[[0, 1], [2, 3]], i64([], (0, 2))], batch_dims=0),
        case("gather_nd_string", "GatherND", [text([["a", "b"], ["c", "d"]]), i64([[0, 1], [1, 1]])], batch_dims=0),
        case("two_batches", "GatherND", [ramp((2, 2, 3)), i64([[[0], [2]], [[1], [1]]])], batch_dims=2),
    )
