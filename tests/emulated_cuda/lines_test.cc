// Ops along lines of an axis: CumSum, CumProd, TopK, OneHot and Trilu.
#include "tests/emulated_cuda/compared_operator.h"

namespace onward::emulated_cuda {
namespace {

struct AxisCase {
  Dims dims;
  int64_t axis;
};

TEST(EmulatedLines, CumulativeOpsAreTheCpus) {
  const AxisCase cases[] = {{{0}, 0},       {{1}, 0},       {{33}, -1},     {{3, 64}, 1},
                            {{2, 1000}, 1}, {{5, 7}, 0},    {{4, 9, 3}, 1}, {{2, 31, 257}, 1},
                            {{3, 0, 2}, 1}, {{2, 3, 5}, -3}};
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16,
                            DType::kInt32, DType::kInt64}) {
    for (const AxisCase& one : cases) {
      const Operand x = {dtype, one.dims};
      for (const char* op : {"CumSum", "CumSum <exclusive = 1>", "CumSum <reverse = 1>",
                             "CumSum <exclusive = 1, reverse = 1>"}) {
        ExpectAsCpu(absl::StrCat("(", TextOf(x), " y) <int64 axis = {", one.axis, "}> { y = ", op,
                                 " (a, axis) }"),
                    {Filled(x, 1, false)}, 40 * ToleranceOf(dtype));
      }
    }
  }
  ExpectAsCpu("(float[3, 40] y) <int64 axis = {1}> { y = CumSum (a, axis) }",
              {Filled({DType::kFloat32, {3, 40}}, 1, true)}, 1e-5);
  for (const char* op : {"CumProd", "CumProd <exclusive = 1>"}) {
    ExpectAsCpu(absl::StrCat("(float[3, 14] y) <int64 axis = {1}> { y = ", op, " (a, axis) }"),
                {Filled({DType::kFloat32, {3, 14}}, 1, false)}, 1e-4);
  }
}

TEST(EmulatedLines, TopKIsTheCpus) {
  struct Case {
    Dims dims;
    int64_t axis, k;
  };
  const Case cases[] = {{{1}, 0, 1},          {{5}, 0, 0},          {{3, 33}, 1, 5},
                        {{3, 33}, 1, 33},     {{2, 1000}, 1, 3},    {{2, 1000}, 1, 700},
                        {{4, 300, 3}, 1, 17}, {{1, 5000}, -1, 300}, {{0, 7}, 1, 2},
                        {{3, 4, 2}, 0, 2}};
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16,
                            DType::kInt32, DType::kInt64, DType::kUint8}) {
    for (const Case& one : cases) {
      Dims out = one.dims;
      out[static_cast<size_t>(one.axis < 0 ? one.axis + 2 : one.axis)] = one.k;
      for (const int largest : {1, 0}) {
        const std::string graph = absl::StrCat(
            "(", TextOf({dtype, out}), " v, ", TextOf({DType::kInt64, out}), " i) <int64[1] k = {",
            one.k, "}> { v, i = TopK <axis = ", one.axis, ", largest = ", largest, "> (a, k) }");
        for (const bool special : {false, true})
          ExpectAsCpu(graph, {Filled({dtype, one.dims}, 1, special)}, 0);
      }
    }
  }
}

// Equal values in their order, also where the last of them does not fit.
TEST(EmulatedLines, TopKKeepsTheFirstOfEqualValues) {
  Tensor x(DType::kFloat32, {2, 900});
  for (int64_t i = 0; i < x.num_elements(); ++i)
    x.mutable_data<float>()[i] = i % 7 == 0 ? -0.0f : i % 11 == 0 ? 1.0f : 0.0f;
  for (const int k : {1, 50, 90, 91, 500, 900}) {
    ExpectAsCpu(absl::StrCat("(float[2, ", k, "] v, int64[2, ", k, "] i) <int64[1] k = {", k,
                             "}> { v, i = TopK (a, k) }"),
                {x}, 0);
  }
}

TEST(EmulatedLines, OneHotIsTheCpus) {
  for (const DType indices : {DType::kInt64, DType::kInt32, DType::kFloat32, DType::kUint8}) {
    for (const int axis : {-1, 0, 1}) {
      const std::string dims = axis == 0 ? "6, 3, 11" : axis == 1 ? "3, 6, 11" : "3, 11, 6";
      for (const char* type : {"float", "int64", "uint8"}) {
        ExpectAsCpu(absl::StrCat("(", type, "[", dims, "] y) <int64 depth = {6}, ", type,
                                 "[2] values = {2, 5}> { y = OneHot <axis = ", axis,
                                 "> (a, depth, values) }"),
                    {Filled({indices, {3, 11}}, 1, false)}, 0);
      }
    }
  }
}

TEST(EmulatedLines, TriluIsTheCpus) {
  for (const Dims& dims :
       {Dims{1, 1}, Dims{4, 7}, Dims{3, 9, 5}, Dims{2, 0, 3}, Dims{2, 2, 33, 40}}) {
    for (const DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kInt64, DType::kBool}) {
      const Operand x = {dtype, dims};
      for (const int upper : {0, 1}) {
        ExpectAsCpu(absl::StrCat("(", TextOf(x), " y) { y = Trilu <upper = ", upper, "> (a) }"),
                    {Filled(x, 1, false)}, 0);
        for (const int k : {-50, -3, 0, 2, 50}) {
          ExpectAsCpu(absl::StrCat("(", TextOf(x), " y) <int64 k = {", k,
                                   "}> { y = Trilu <upper = ", upper, "> (a, k) }"),
                      {Filled(x, 1, false)}, 0);
        }
      }
    }
  }
}

}  // namespace
}  // namespace onward::emulated_cuda
