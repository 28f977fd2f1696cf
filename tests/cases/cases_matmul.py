"""MatMul and Gemm."""
from case import FLOATS, case, f32, i64, join, ramp, spread


def cases():
    return join(
        case(
            "square", "MatMul", [[[1, 2], [3, 4]], [[5, 6], [7, 8]]], types="f32 f64 f16 bf16 i32 i64 u32 u64",
            rtol=1e-05,
        ),
        case(
            "rectangular", "MatMul", [spread((3, 5), 1, -3, 4), spread((5, 2), 2, -3, 4)],
            types="f32 f64 f16 bf16 i32 i64", rtol=1e-05,
        ),
        case("unsigned", "MatMul", [spread((3, 5), 1, 0, 9), spread((5, 2), 2, 0, 9)], types="f32 u32 u64"),
        case("vector_vector", "MatMul", [[1, 2, 3], [4, 5, 6]]),
        case("vector_matrix", "MatMul", [[1, 2, 3], ramp((3, 2))]),
        case("matrix_vector", "MatMul", [ramp((2, 3)), [1, 2, 3]]),
        case("vector_batch", "MatMul", [[1, 2], spread((3, 2, 2), 3, -3, 4)]),
        case("batch_vector", "MatMul", [spread((2, 2, 3), 4, -3, 4), [2, -3, 1]]),
        case("batch_shared_right", "MatMul", [spread((2, 3, 2), 6, -3, 4), spread((2, 3), 7, -3, 4)]),
        case("batch_shared_left", "MatMul", [spread((2, 3), 8, -3, 4), spread((3, 3, 2), 9, -3, 4)]),
        case("batch_broadcast_both", "MatMul", [spread((2, 1, 2, 2), 10, -3, 4), spread((3, 2, 2), 11, -3, 4)]),
        case("batch_broadcast_inner", "MatMul", [spread((2, 2, 1, 2), 12, -3, 4), [[[[2], [0]]], [[[3], [-3]]]]]),
        case("single_row", "MatMul", [spread((1, 7), 14, -3, 4), spread((7, 9), 15, -3, 4)]),
        case("empty_batch", "MatMul", [f32([], (0, 2, 3)), ramp((3, 4))]),
        case("empty_rows", "MatMul", [f32([], (0, 3)), ramp((3, 4))]),
        case("empty_inner", "MatMul", [[[], []], f32([], (0, 3))]),
        case("empty_columns", "MatMul", [ramp((2, 3)), [[], [], []]]),
        case("more_than_a_tile", "MatMul", [ramp((33, 2)), spread((2, 3), 16, -3, 4)]),
        case("wraps_int32", "MatMul", [[[1073741824, 1073741824]], [[3], [3]]], types="i32"),
        case("wraps_uint64", "MatMul", [[[9223372036854775808]], [[3]]], types="u64"),
        case("plain", "Gemm", [[[2, 0, 3], [-2, 1, 1]], spread((3, 4), 21, -3, 4)], types=FLOATS, rtol=1e-05),
        case(
            "gemm", "Gemm", [[[2, 0, 3], [-2, 1, 1]], spread((3, 4), 21, -3, 4), [3, -2, 0, 1]],
            types="f32 i32 f64 f16 bf16", rtol=1e-05,
        ),
        case("bias_column", "Gemm", [[[2, 0, 3], [-2, 1, 1]], spread((3, 4), 21, -3, 4), [[1], [-1]]]),
        case("bias_matrix", "Gemm", [[[2, 0, 3], [-2, 1, 1]], spread((3, 4), 21, -3, 4), spread((2, 4), 24, -3, 4)]),
        case("bias_scalar", "Gemm", [[[2, 0, 3], [-2, 1, 1]], spread((3, 4), 21, -3, 4), 3]),
        case("bias_one_element", "Gemm", [[[2, 0, 3], [-2, 1, 1]], spread((3, 4), 21, -3, 4), [[-2]]]),
        case("transposed_left", "Gemm", [[[2, -2], [0, 1], [3, 1]], spread((3, 4), 21, -3, 4)], transA=1),
        case(
            "gemm_2", "Gemm", [[[2, 0, 3], [-2, 1, 1]], [[1, 2, 3], [2, -1, 2], [-1, 0, 0], [-3, -2, -2]]],
            transB=1, types="f32 i64",
        ),
        case(
            "transposed_both", "Gemm",
            [[[2, -2], [0, 1], [3, 1]], [[1, 2, 3], [2, -1, 2], [-1, 0, 0], [-3, -2, -2]], [[-2, -1, 3, 1]]],
            transA=1, transB=1,
        ),
        case(
            "scaled", "Gemm", [[[2, 0, 3], [-2, 1, 1]], spread((3, 4), 21, -3, 4), [3, 2, 3, 2]], alpha=0.5,
            beta=2.0, types=FLOATS, rtol=1e-05,
        ),
        case("zero_beta", "Gemm", [[[2, 0, 3], [-2, 1, 1]], spread((3, 4), 21, -3, 4), [3, -1, 3, -2]], beta=0.0),
        case("empty_rows_gemm", "Gemm", [f32([], (0, 3)), spread((3, 4), 21, -3, 4)]),
        case("empty_inner_gemm", "Gemm", [[[], []], f32([], (0, 4)), [0, -3, 3, -2]]),
        case(
            "int32_scaled", "Gemm", [[[2, -2], [0, 1], [3, 1]], spread((3, 4), 21, -3, 4), [3, -2, 0, 1]],
            alpha=2.0, beta=3.0, transA=1, types="i32",
        ),
        case("uint64", "Gemm", [[[4, 1, 8], [2, 5, 0]], spread((3, 2), 2, 0, 9)], types="u64"),
        case("empty_inner_int64", "MatMul", [[[], []], i64([], (0, 3))], types="i64"),
    )
