// Expected values: the reference evaluator of onnx 1.23 (NumPy), 16-bit floats in float32 and
// rounded once.
#include "tests/cases/cases.h"
#include "tests/cases/values.h"

namespace onward::cases {
namespace {

std::vector<OpCase> TypesRows() {
  return {
      Row("cumsum_f32", "CumSum", {}, {Of<float>({4}, {1, 2, 3, 4}), Of<int32_t>({}, {0})},
          {Of<float>({4}, {1, 3, 6, 10})}),
      Row("cumprod_f32", "CumProd", {}, {Of<float>({4}, {1, 2, 3, 4}), Of<int32_t>({}, {0})},
          {Of<float>({4}, {1, 2, 6, 24})}),
      Row("cumsum_f64", "CumSum", {}, {Of<double>({4}, {1, 2, 3, 4}), Of<int32_t>({}, {0})},
          {Of<double>({4}, {1, 3, 6, 10})}),
      Row("cumprod_f64", "CumProd", {}, {Of<double>({4}, {1, 2, 3, 4}), Of<int32_t>({}, {0})},
          {Of<double>({4}, {1, 2, 6, 24})}),
      Row("cumsum_f16", "CumSum", {}, {Of<Float16>({4}, {1, 2, 3, 4}), Of<int32_t>({}, {0})},
          {Of<Float16>({4}, {1, 3, 6, 10})}, 1e-3, 1e-4),
      Row("cumprod_f16", "CumProd", {}, {Of<Float16>({4}, {1, 2, 3, 4}), Of<int32_t>({}, {0})},
          {Of<Float16>({4}, {1, 2, 6, 24})}, 1e-3, 1e-4),
      Row("cumsum_bf16", "CumSum", {}, {Of<BFloat16>({4}, {1, 2, 3, 4}), Of<int32_t>({}, {0})},
          {Of<BFloat16>({4}, {1, 3, 6, 10})}, 8e-3, 1e-4),
      Row("cumprod_bf16", "CumProd", {}, {Of<BFloat16>({4}, {1, 2, 3, 4}), Of<int32_t>({}, {0})},
          {Of<BFloat16>({4}, {1, 2, 6, 24})}, 8e-3, 1e-4),
      Row("cumsum_i32", "CumSum", {}, {Of<int32_t>({4}, {1, 2, 3, 4}), Of<int32_t>({}, {0})},
          {Of<int32_t>({4}, {1, 3, 6, 10})}),
      Row("cumprod_i32", "CumProd", {}, {Of<int32_t>({4}, {1, 2, 3, 4}), Of<int32_t>({}, {0})},
          {Of<int32_t>({4}, {1, 2, 6, 24})}),
      Row("cumsum_i64", "CumSum", {}, {Of<int64_t>({4}, {1, 2, 3, 4}), Of<int32_t>({}, {0})},
          {Of<int64_t>({4}, {1, 3, 6, 10})}),
      Row("cumprod_i64", "CumProd", {}, {Of<int64_t>({4}, {1, 2, 3, 4}), Of<int32_t>({}, {0})},
          {Of<int64_t>({4}, {1, 2, 6, 24})}),
      Row("cumsum_u32", "CumSum", {}, {Of<uint32_t>({4}, {1, 2, 3, 4}), Of<int32_t>({}, {0})},
          {Of<uint32_t>({4}, {1, 3, 6, 10})}),
      Row("cumprod_u32", "CumProd", {}, {Of<uint32_t>({4}, {1, 2, 3, 4}), Of<int32_t>({}, {0})},
          {Of<uint32_t>({4}, {1, 2, 6, 24})}),
      Row("cumsum_u64", "CumSum", {}, {Of<uint64_t>({4}, {1, 2, 3, 4}), Of<int32_t>({}, {0})},
          {Of<uint64_t>({4}, {1, 3, 6, 10})}),
      Row("cumprod_u64", "CumProd", {}, {Of<uint64_t>({4}, {1, 2, 3, 4}), Of<int32_t>({}, {0})},
          {Of<uint64_t>({4}, {1, 2, 6, 24})}),
  };
}

std::vector<OpCase> AxesRows1() {
  return {
      Row("cumsum_1_00", "CumSum", {{"exclusive", int64_t{0}}, {"reverse", int64_t{0}}},
          {Of<float>({2, 3, 2}, {3, 3, 3, 3, 2, 2, 3, 2, 3, 3, 2, 2}), Of<int64_t>({}, {0})},
          {Of<float>({2, 3, 2}, {3, 3, 3, 3, 2, 2, 6, 5, 6, 6, 4, 4})}),
      Row("cumsum_1_01", "CumSum", {{"exclusive", int64_t{0}}, {"reverse", int64_t{1}}},
          {Of<float>({2, 3, 2}, {3, 3, 3, 3, 2, 2, 3, 2, 3, 3, 2, 2}), Of<int64_t>({}, {0})},
          {Of<float>({2, 3, 2}, {6, 5, 6, 6, 4, 4, 3, 2, 3, 3, 2, 2})}),
      Row("cumsum_1_10", "CumSum", {{"exclusive", int64_t{1}}, {"reverse", int64_t{0}}},
          {Of<float>({2, 3, 2}, {3, 3, 3, 3, 2, 2, 3, 2, 3, 3, 2, 2}), Of<int64_t>({}, {0})},
          {Of<float>({2, 3, 2}, {0, 0, 0, 0, 0, 0, 3, 3, 3, 3, 2, 2})}),
      Row("cumsum_1_11", "CumSum", {{"exclusive", int64_t{1}}, {"reverse", int64_t{1}}},
          {Of<float>({2, 3, 2}, {3, 3, 3, 3, 2, 2, 3, 2, 3, 3, 2, 2}), Of<int64_t>({}, {0})},
          {Of<float>({2, 3, 2}, {3, 2, 3, 3, 2, 2, 0, 0, 0, 0, 0, 0})}),
      Row("cumsum_2_00", "CumSum", {{"exclusive", int64_t{0}}, {"reverse", int64_t{0}}},
          {Of<float>({2, 3, 2}, {3, 3, 3, 3, 2, 2, 3, 2, 3, 3, 2, 2}), Of<int64_t>({}, {1})},
          {Of<float>({2, 3, 2}, {3, 3, 6, 6, 8, 8, 3, 2, 6, 5, 8, 7})}),
      Row("cumsum_2_01", "CumSum", {{"exclusive", int64_t{0}}, {"reverse", int64_t{1}}},
          {Of<float>({2, 3, 2}, {3, 3, 3, 3, 2, 2, 3, 2, 3, 3, 2, 2}), Of<int64_t>({}, {1})},
          {Of<float>({2, 3, 2}, {8, 8, 5, 5, 2, 2, 8, 7, 5, 5, 2, 2})}),
      Row("cumsum_2_10", "CumSum", {{"exclusive", int64_t{1}}, {"reverse", int64_t{0}}},
          {Of<float>({2, 3, 2}, {3, 3, 3, 3, 2, 2, 3, 2, 3, 3, 2, 2}), Of<int64_t>({}, {1})},
          {Of<float>({2, 3, 2}, {0, 0, 3, 3, 6, 6, 0, 0, 3, 2, 6, 5})}),
      Row("cumsum_2_11", "CumSum", {{"exclusive", int64_t{1}}, {"reverse", int64_t{1}}},
          {Of<float>({2, 3, 2}, {3, 3, 3, 3, 2, 2, 3, 2, 3, 3, 2, 2}), Of<int64_t>({}, {1})},
          {Of<float>({2, 3, 2}, {5, 5, 2, 2, 0, 0, 5, 5, 2, 2, 0, 0})}),
      Row("cumsum_3_00", "CumSum", {{"exclusive", int64_t{0}}, {"reverse", int64_t{0}}},
          {Of<float>({2, 3, 2}, {3, 3, 3, 3, 2, 2, 3, 2, 3, 3, 2, 2}), Of<int64_t>({}, {2})},
          {Of<float>({2, 3, 2}, {3, 6, 3, 6, 2, 4, 3, 5, 3, 6, 2, 4})}),
      Row("cumsum_3_01", "CumSum", {{"exclusive", int64_t{0}}, {"reverse", int64_t{1}}},
          {Of<float>({2, 3, 2}, {3, 3, 3, 3, 2, 2, 3, 2, 3, 3, 2, 2}), Of<int64_t>({}, {2})},
          {Of<float>({2, 3, 2}, {6, 3, 6, 3, 4, 2, 5, 2, 6, 3, 4, 2})}),
      Row("cumsum_3_10", "CumSum", {{"exclusive", int64_t{1}}, {"reverse", int64_t{0}}},
          {Of<float>({2, 3, 2}, {3, 3, 3, 3, 2, 2, 3, 2, 3, 3, 2, 2}), Of<int64_t>({}, {2})},
          {Of<float>({2, 3, 2}, {0, 3, 0, 3, 0, 2, 0, 3, 0, 3, 0, 2})}),
      Row("cumsum_3_11", "CumSum", {{"exclusive", int64_t{1}}, {"reverse", int64_t{1}}},
          {Of<float>({2, 3, 2}, {3, 3, 3, 3, 2, 2, 3, 2, 3, 3, 2, 2}), Of<int64_t>({}, {2})},
          {Of<float>({2, 3, 2}, {3, 0, 3, 0, 2, 0, 2, 0, 3, 0, 2, 0})}),
      Row("cumsum_0_00", "CumSum", {{"exclusive", int64_t{0}}, {"reverse", int64_t{0}}},
          {Of<float>({2, 3, 2}, {3, 3, 3, 3, 2, 2, 3, 2, 3, 3, 2, 2}), Of<int64_t>({}, {-1})},
          {Of<float>({2, 3, 2}, {3, 6, 3, 6, 2, 4, 3, 5, 3, 6, 2, 4})}),
      Row("cumsum_0_01", "CumSum", {{"exclusive", int64_t{0}}, {"reverse", int64_t{1}}},
          {Of<float>({2, 3, 2}, {3, 3, 3, 3, 2, 2, 3, 2, 3, 3, 2, 2}), Of<int64_t>({}, {-1})},
          {Of<float>({2, 3, 2}, {6, 3, 6, 3, 4, 2, 5, 2, 6, 3, 4, 2})}),
      Row("cumsum_0_10", "CumSum", {{"exclusive", int64_t{1}}, {"reverse", int64_t{0}}},
          {Of<float>({2, 3, 2}, {3, 3, 3, 3, 2, 2, 3, 2, 3, 3, 2, 2}), Of<int64_t>({}, {-1})},
          {Of<float>({2, 3, 2}, {0, 3, 0, 3, 0, 2, 0, 3, 0, 3, 0, 2})}),
      Row("cumsum_0_11", "CumSum", {{"exclusive", int64_t{1}}, {"reverse", int64_t{1}}},
          {Of<float>({2, 3, 2}, {3, 3, 3, 3, 2, 2, 3, 2, 3, 3, 2, 2}), Of<int64_t>({}, {-1})},
          {Of<float>({2, 3, 2}, {3, 0, 3, 0, 2, 0, 2, 0, 3, 0, 2, 0})}),
  };
}

std::vector<OpCase> AxesRows2() {
  return {
      Row("cumprod_1_00", "CumProd", {{"exclusive", int64_t{0}}, {"reverse", int64_t{0}}},
          {Of<float>({2, 3, 2}, {3, 3, 3, 3, 2, 2, 3, 2, 3, 3, 2, 2}), Of<int64_t>({}, {0})},
          {Of<float>({2, 3, 2}, {3, 3, 3, 3, 2, 2, 9, 6, 9, 9, 4, 4})}),
      Row("cumprod_1_01", "CumProd", {{"exclusive", int64_t{0}}, {"reverse", int64_t{1}}},
          {Of<float>({2, 3, 2}, {3, 3, 3, 3, 2, 2, 3, 2, 3, 3, 2, 2}), Of<int64_t>({}, {0})},
          {Of<float>({2, 3, 2}, {9, 6, 9, 9, 4, 4, 3, 2, 3, 3, 2, 2})}),
      Row("cumprod_1_10", "CumProd", {{"exclusive", int64_t{1}}, {"reverse", int64_t{0}}},
          {Of<float>({2, 3, 2}, {3, 3, 3, 3, 2, 2, 3, 2, 3, 3, 2, 2}), Of<int64_t>({}, {0})},
          {Of<float>({2, 3, 2}, {1, 1, 1, 1, 1, 1, 3, 3, 3, 3, 2, 2})}),
      Row("cumprod_1_11", "CumProd", {{"exclusive", int64_t{1}}, {"reverse", int64_t{1}}},
          {Of<float>({2, 3, 2}, {3, 3, 3, 3, 2, 2, 3, 2, 3, 3, 2, 2}), Of<int64_t>({}, {0})},
          {Of<float>({2, 3, 2}, {3, 2, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1})}),
      Row("cumprod_2_00", "CumProd", {{"exclusive", int64_t{0}}, {"reverse", int64_t{0}}},
          {Of<float>({2, 3, 2}, {3, 3, 3, 3, 2, 2, 3, 2, 3, 3, 2, 2}), Of<int64_t>({}, {1})},
          {Of<float>({2, 3, 2}, {3, 3, 9, 9, 18, 18, 3, 2, 9, 6, 18, 12})}),
      Row("cumprod_2_01", "CumProd", {{"exclusive", int64_t{0}}, {"reverse", int64_t{1}}},
          {Of<float>({2, 3, 2}, {3, 3, 3, 3, 2, 2, 3, 2, 3, 3, 2, 2}), Of<int64_t>({}, {1})},
          {Of<float>({2, 3, 2}, {18, 18, 6, 6, 2, 2, 18, 12, 6, 6, 2, 2})}),
      Row("cumprod_2_10", "CumProd", {{"exclusive", int64_t{1}}, {"reverse", int64_t{0}}},
          {Of<float>({2, 3, 2}, {3, 3, 3, 3, 2, 2, 3, 2, 3, 3, 2, 2}), Of<int64_t>({}, {1})},
          {Of<float>({2, 3, 2}, {1, 1, 3, 3, 9, 9, 1, 1, 3, 2, 9, 6})}),
      Row("cumprod_2_11", "CumProd", {{"exclusive", int64_t{1}}, {"reverse", int64_t{1}}},
          {Of<float>({2, 3, 2}, {3, 3, 3, 3, 2, 2, 3, 2, 3, 3, 2, 2}), Of<int64_t>({}, {1})},
          {Of<float>({2, 3, 2}, {6, 6, 2, 2, 1, 1, 6, 6, 2, 2, 1, 1})}),
      Row("cumprod_3_00", "CumProd", {{"exclusive", int64_t{0}}, {"reverse", int64_t{0}}},
          {Of<float>({2, 3, 2}, {3, 3, 3, 3, 2, 2, 3, 2, 3, 3, 2, 2}), Of<int64_t>({}, {2})},
          {Of<float>({2, 3, 2}, {3, 9, 3, 9, 2, 4, 3, 6, 3, 9, 2, 4})}),
      Row("cumprod_3_01", "CumProd", {{"exclusive", int64_t{0}}, {"reverse", int64_t{1}}},
          {Of<float>({2, 3, 2}, {3, 3, 3, 3, 2, 2, 3, 2, 3, 3, 2, 2}), Of<int64_t>({}, {2})},
          {Of<float>({2, 3, 2}, {9, 3, 9, 3, 4, 2, 6, 2, 9, 3, 4, 2})}),
      Row("cumprod_3_10", "CumProd", {{"exclusive", int64_t{1}}, {"reverse", int64_t{0}}},
          {Of<float>({2, 3, 2}, {3, 3, 3, 3, 2, 2, 3, 2, 3, 3, 2, 2}), Of<int64_t>({}, {2})},
          {Of<float>({2, 3, 2}, {1, 3, 1, 3, 1, 2, 1, 3, 1, 3, 1, 2})}),
      Row("cumprod_3_11", "CumProd", {{"exclusive", int64_t{1}}, {"reverse", int64_t{1}}},
          {Of<float>({2, 3, 2}, {3, 3, 3, 3, 2, 2, 3, 2, 3, 3, 2, 2}), Of<int64_t>({}, {2})},
          {Of<float>({2, 3, 2}, {3, 1, 3, 1, 2, 1, 2, 1, 3, 1, 2, 1})}),
      Row("cumprod_0_00", "CumProd", {{"exclusive", int64_t{0}}, {"reverse", int64_t{0}}},
          {Of<float>({2, 3, 2}, {3, 3, 3, 3, 2, 2, 3, 2, 3, 3, 2, 2}), Of<int64_t>({}, {-1})},
          {Of<float>({2, 3, 2}, {3, 9, 3, 9, 2, 4, 3, 6, 3, 9, 2, 4})}),
      Row("cumprod_0_01", "CumProd", {{"exclusive", int64_t{0}}, {"reverse", int64_t{1}}},
          {Of<float>({2, 3, 2}, {3, 3, 3, 3, 2, 2, 3, 2, 3, 3, 2, 2}), Of<int64_t>({}, {-1})},
          {Of<float>({2, 3, 2}, {9, 3, 9, 3, 4, 2, 6, 2, 9, 3, 4, 2})}),
      Row("cumprod_0_10", "CumProd", {{"exclusive", int64_t{1}}, {"reverse", int64_t{0}}},
          {Of<float>({2, 3, 2}, {3, 3, 3, 3, 2, 2, 3, 2, 3, 3, 2, 2}), Of<int64_t>({}, {-1})},
          {Of<float>({2, 3, 2}, {1, 3, 1, 3, 1, 2, 1, 3, 1, 3, 1, 2})}),
      Row("cumprod_0_11", "CumProd", {{"exclusive", int64_t{1}}, {"reverse", int64_t{1}}},
          {Of<float>({2, 3, 2}, {3, 3, 3, 3, 2, 2, 3, 2, 3, 3, 2, 2}), Of<int64_t>({}, {-1})},
          {Of<float>({2, 3, 2}, {3, 1, 3, 1, 2, 1, 2, 1, 3, 1, 2, 1})}),
  };
}

std::vector<OpCase> AxesRows3() {
  return {
      Row("wraps", "CumSum", {}, {Of<int32_t>({2}, {2147483647, 1}), Of<int32_t>({}, {0})},
          {Of<int32_t>({2}, {2147483647, -2147483648})}),
      Row("empty", "CumSum", {}, {Of<float>({0, 2}, {}), Of<int32_t>({}, {0})},
          {Of<float>({0, 2}, {})}),
      Row("empty_axis", "CumSum", {{"reverse", int64_t{1}}},
          {Of<float>({2, 0, 3}, {}), Of<int32_t>({}, {1})}, {Of<float>({2, 0, 3}, {})}),
  };
}

}  // namespace

std::vector<OpCase> CumulativeCases() { return Join({TypesRows, AxesRows1, AxesRows2, AxesRows3}); }

}  // namespace onward::cases
