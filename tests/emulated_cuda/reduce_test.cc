// Reductions over axes, of rows, of columns and of axes between others.
#include "absl/strings/str_join.h"
#include "tests/emulated_cuda/compared_operator.h"

namespace onward::emulated_cuda {
namespace {

struct ReduceCase {
  Dims x;
  std::vector<int64_t> axes;
  Dims y;
};

const std::vector<ReduceCase>& Cases() {
  static const std::vector<ReduceCase> kCases = {
      {{3, 7}, {1}, {3, 1}},
      {{3, 7}, {0}, {1, 7}},
      {{2, 1500}, {1}, {2, 1}},
      {{5, 2, 300}, {-1}, {5, 2, 1}},
      {{40, 70}, {0}, {1, 70}},
      {{3, 4, 5, 6}, {1, 3}, {3, 1, 5, 1}},
      {{3, 4, 5, 6}, {0, 2}, {1, 4, 1, 6}},
      {{4, 1, 3}, {1}, {4, 1, 3}},
      {{33}, {0}, {1}},
      {{0, 3}, {1}, {0, 1}},
  };
  return kCases;
}

std::string GraphOf(const char* op, DType dtype, const ReduceCase& one) {
  return absl::StrCat("(", TextOf({dtype, one.y}), " y) { axes = Constant <value_ints = [",
                      absl::StrJoin(one.axes, ", "), "]> () y = ", op, " (a, axes) }");
}

TEST(EmulatedReduce, IsTheCpus) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16,
                            DType::kInt32, DType::kInt64}) {
    for (const ReduceCase& one : Cases()) {
      for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1",
                             "ReduceL2", "ReduceSumSquare", "ReduceProd", "ReduceLogSumExp"}) {
        if (std::string(op) == "ReduceLogSumExp" && IsInteger(dtype)) continue;
        // Products and sums of hundreds of numbers leave the range of 16 bits.
        const bool is_narrow = BitSize(dtype) == 16;
        const int64_t count = NumElements(one.x) / std::max<int64_t>(1, NumElements(one.y));
        if (std::string(op) == "ReduceProd" && count > 30) continue;
        if (is_narrow && count > 30 && std::string(op) != "ReduceMax") continue;
        ExpectAsCpu(GraphOf(op, dtype, one), {Filled({dtype, one.x}, 1, false)},
                    10 * ToleranceOf(dtype));
      }
    }
  }
}

// Few outputs of many elements, which are cut into parts: rows, columns and axes between others.
TEST(EmulatedReduce, InPartsIsTheCpus) {
  const ReduceCase cases[] = {
      {{30011}, {0}, {1}},
      {{2, 9001}, {1}, {2, 1}},
      {{1030, 40}, {0}, {1, 40}},
      {{3, 300, 7, 30}, {1, 3}, {3, 1, 7, 1}},
      {{2, 300, 5}, {0, 1}, {1, 1, 5}},
  };
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt64}) {
    for (const ReduceCase& one : cases) {
      for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2"})
        ExpectAsCpu(GraphOf(op, dtype, one), {Filled({dtype, one.x}, 1, false)},
                    10 * ToleranceOf(dtype));
    }
  }
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16})
    ExpectAsCpu(GraphOf("ReduceMean", dtype, cases[2]), {Filled({dtype, cases[2].x}, 1, false)},
                10 * ToleranceOf(dtype));
  ExpectAsCpu(GraphOf("ReduceMax", DType::kFloat32, cases[0]),
              {Filled({DType::kFloat32, cases[0].x}, 3, true)}, 0);
}

TEST(EmulatedReduce, NaNsAndInfinitiesAreTheCpus) {
  for (const ReduceCase& one : Cases()) {
    for (const char* op :
         {"ReduceMax", "ReduceMin", "ReduceSum", "ReduceLogSum", "ReduceLogSumExp"})
      ExpectAsCpu(GraphOf(op, DType::kFloat32, one), {Filled({DType::kFloat32, one.x}, 3, true)},
                  1e-4);
  }
}

TEST(EmulatedReduce, OfNothingIsTheCpus) {
  for (const char* op : {"ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceLogSumExp"}) {
    ExpectAsCpu(GraphOf(op, DType::kFloat32, {{2, 0}, {1}, {2, 1}}),
                {Filled({DType::kFloat32, {2, 0}}, 1, false)}, 0);
    ExpectAsCpu(GraphOf(op, DType::kFloat32, {{0, 3}, {0}, {1, 3}}),
                {Filled({DType::kFloat32, {0, 3}}, 1, false)}, 0);
  }
}

}  // namespace
}  // namespace onward::emulated_cuda
