"""CumSum and CumProd."""
from case import case, f32, i32, i64, join

X1 = [[[[3, 3], [3, 3], [2, 2]], [[3, 2], [3, 3], [2, 2]]], i64(0)]
X2 = [[[[3, 3], [3, 3], [2, 2]], [[3, 2], [3, 3], [2, 2]]], i64(1)]
X3 = [[[[3, 3], [3, 3], [2, 2]], [[3, 2], [3, 3], [2, 2]]], i64(2)]
X4 = [[[[3, 3], [3, 3], [2, 2]], [[3, 2], [3, 3], [2, 2]]], i64(-1)]


def cases():
    return join(
        case("cumsum", "CumSum", [[1, 2, 3, 4], i32(0)], types="f32 f64 f16 bf16 i32 i64 u32 u64"),
        case("cumprod", "CumProd", [[1, 2, 3, 4], i32(0)], types="f32 f64 f16 bf16 i32 i64 u32 u64"),
        case("cumsum_1_00", "CumSum", X1, exclusive=0, reverse=0),
        case("cumsum_1_01", "CumSum", X1, exclusive=0, reverse=1),
        case("cumsum_1_10", "CumSum", X1, exclusive=1, reverse=0),
        case("cumsum_1_11", "CumSum", X1, exclusive=1, reverse=1),
        case("cumsum_2_00", "CumSum", X2, exclusive=0, reverse=0),
        case("cumsum_2_01", "CumSum", X2, exclusive=0, reverse=1),
        case("cumsum_2_10", "CumSum", X2, exclusive=1, reverse=0),
        case("cumsum_2_11", "CumSum", X2, exclusive=1, reverse=1),
        case("cumsum_3_00", "CumSum", X3, exclusive=0, reverse=0),
        case("cumsum_3_01", "CumSum", X3, exclusive=0, reverse=1),
        case("cumsum_3_10", "CumSum", X3, exclusive=1, reverse=0),
        case("cumsum_3_11", "CumSum", X3, exclusive=1, reverse=1),
        case("cumsum_0_00", "CumSum", X4, exclusive=0, reverse=0),
        case("cumsum_0_01", "CumSum", X4, exclusive=0, reverse=1),
        case("cumsum_0_10", "CumSum", X4, exclusive=1, reverse=0),
        case("cumsum_0_11", "CumSum", X4, exclusive=1, reverse=1),
        case("cumprod_1_00", "CumProd", X1, exclusive=0, reverse=0),
        case("cumprod_1_01", "CumProd", X1, exclusive=0, reverse=1),
        case("cumprod_1_10", "CumProd", X1, exclusive=1, reverse=0),
        case("cumprod_1_11", "CumProd", X1, exclusive=1, reverse=1),
        case("cumprod_2_00", "CumProd", X2, exclusive=0, reverse=0),
        case("cumprod_2_01", "CumProd", X2, exclusive=0, reverse=1),
        case("cumprod_2_10", "CumProd", X2, exclusive=1, reverse=0),
        case("cumprod_2_11", "CumProd", X2, exclusive=1, reverse=1),
        case("cumprod_3_00", "CumProd", X3, exclusive=0, reverse=0),
        case("cumprod_3_01", "CumProd", X3, exclusive=0, reverse=1),
        case("cumprod_3_10", "CumProd", X3, exclusive=1, reverse=0),
        case("cumprod_3_11", "CumProd", X3, exclusive=1, reverse=1),
        case("cumprod_0_00", "CumProd", X4, exclusive=0, reverse=0),
        case("cumprod_0_01", "CumProd", X4, exclusive=0, reverse=1),
        case("cumprod_0_10", "CumProd", X4, exclusive=1, reverse=0),
        case("cumprod_0_11", "CumProd", X4, exclusive=1, reverse=1),
        case("wraps", "CumSum", [[2147483647, 1], 0], types="i32"),
        case("empty", "CumSum", [f32([], (0, 2)), i32(0)]),
        case("empty_axis", "CumSum", [f32([], (2, 0, 3)), i32(1)], reverse=1),
    )
