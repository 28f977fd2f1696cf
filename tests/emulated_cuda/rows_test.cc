// Softmax, Hardmax and normalizations of rows of many lengths, and along axes in the middle.
#include <set>

#include "tests/emulated_cuda/compared_operator.h"
#include "tests/emulated_cuda/compared_session.h"

namespace onward::emulated_cuda {
namespace {

constexpr DType kFloats[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16};

struct AxisCase {
  Dims dims;
  int64_t axis;
};

TEST(EmulatedRows, SoftmaxIsTheCpus) {
  const AxisCase cases[] = {{{0, 3}, 1},    {{3, 0}, 1},       {{1, 1}, -1},   {{3, 33}, 1},
                            {{2, 1024}, 1}, {{5, 1025}, 1},    {{1, 5000}, 1}, {{4, 3}, 0},
                            {{7, 5, 9}, 1}, {{2, 19, 67}, -2}, {{300, 2}, 0},  {{2, 0, 3}, 0}};
  for (const DType dtype : kFloats) {
    for (const AxisCase& one : cases) {
      for (const char* op : {"Softmax", "LogSoftmax"}) {
        const std::string graph = absl::StrCat("(", TextOf({dtype, one.dims}), " y) { y = ", op,
                                               " <axis = ", one.axis, "> (a) }");
        for (const bool special : {false, true})
          ExpectAsCpu(graph, {Filled({dtype, one.dims}, 1, special)}, ToleranceOf(dtype));
      }
    }
  }
}

// A row of -inf alone, of +inf, of NaN, and rows that overflow without the maximum.
TEST(EmulatedRows, SoftmaxOfExtremeRows) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const float rows[][3] = {{-inf, -inf, -inf}, {inf, 1, 2},       {nan, 1, 2},
                           {1000, 1001, 999},  {-1000, -inf, -1}, {1, -inf, nan}};
  Tensor x(DType::kFloat32, {6, 3});
  for (int i = 0; i < 18; ++i) x.mutable_data<float>()[i] = rows[i / 3][i % 3];
  for (const char* op : {"Softmax", "LogSoftmax"})
    ExpectAsCpu(absl::StrCat("(float[6, 3] y) { y = ", op, " (a) }"), {x}, 1e-6);
}

TEST(EmulatedRows, HardmaxIsTheCpus) {
  const AxisCase cases[] = {{{}, -1},          {{0, 3}, 1},    {{1, 1}, -1},  {{3, 33}, 1},
                            {{5, 1025}, 1},    {{1, 5000}, 1}, {{4, 3}, 0},   {{7, 5, 9}, 1},
                            {{2, 19, 67}, -2}, {{300, 2}, 0},  {{2, 0, 3}, 0}};
  for (const DType dtype : kFloats) {
    for (const AxisCase& one : cases) {
      for (const bool special : {false, true}) {
        ExpectAsCpu(absl::StrCat("(", TextOf({dtype, one.dims}),
                                 " y) { y = Hardmax <axis = ", one.axis, "> (a) }"),
                    {Filled({dtype, one.dims}, 1, special)}, 0);
      }
    }
  }
}

// The first of several largest elements, which warps and blocks meet in other orders.
TEST(EmulatedRows, HardmaxTakesTheFirstOfTheLargest) {
  for (const Dims& dims : {Dims{3, 700}, Dims{3, 40}, Dims{2, 700, 3}}) {
    Tensor x(DType::kFloat32, dims);
    for (int64_t i = 0; i < x.num_elements(); ++i)
      x.mutable_data<float>()[i] = static_cast<float>(i * 31 % 7);
    ExpectAsCpu(
        absl::StrCat("(", TextOf({DType::kFloat32, dims}), " y) { y = Hardmax <axis = 1> (a) }"),
        {x}, 0);
  }
}

TEST(EmulatedRows, NormsAreTheCpus) {
  const AxisCase cases[] = {{{0, 3}, 1},    {{1, 1}, -1},   {{3, 33}, 1},   {{5, 1025}, 1},
                            {{1, 5000}, 1}, {{4, 3}, 0},    {{7, 5, 9}, 1}, {{2, 19, 67}, -2},
                            {{300, 2}, 0},  {{2, 0, 3}, 0}, {{2, 0, 3}, 1}};
  for (const DType dtype : kFloats) {
    for (const AxisCase& one : cases) {
      for (const int p : {1, 2}) {
        for (const bool special : {false, true}) {
          ExpectAsCpu(
              absl::StrCat("(", TextOf({dtype, one.dims}),
                           " y) { y = LpNormalization <axis = ", one.axis, ", p = ", p, "> (a) }"),
              {Filled({dtype, one.dims}, 1, special)}, ToleranceOf(dtype));
        }
      }
    }
  }
  for (const float scale : {0.0f, 1e-30f, 1e30f}) {
    const Tensor x = Tensor::Of<float>({2, 3}, {scale, -2 * scale, 0, 0, scale, scale});
    ExpectAsCpu("(float[2, 3] y) { y = LpNormalization (a) }", {x}, 1e-6);
  }
}

TEST(EmulatedRows, NeighbouringChannelsAreTheCpus) {
  const Dims shapes[] = {{2, 7, 3, 5}, {1, 1, 1, 1}, {3, 40},
                         {2, 5, 9},    {0, 4, 2, 2}, {2, 3, 0, 4}};
  for (const DType dtype : kFloats) {
    for (const Dims& dims : shapes) {
      for (const char* attributes :
           {"size = 3", "size = 4, alpha = 0.5, beta = 0.5, bias = 2.0", "size = 1", "size = 99"}) {
        ExpectAsCpu(
            absl::StrCat("(", TextOf({dtype, dims}), " y) { y = LRN <", attributes, "> (a) }"),
            {Filled({dtype, dims}, 1, false)}, 4 * ToleranceOf(dtype));
      }
    }
  }
}

struct LayerCase {
  Dims x;
  int64_t axis;
  Dims scale, bias;
};

TEST(EmulatedRows, NormalizationsAreTheCpus) {
  const LayerCase cases[] = {
      {{0, 3}, -1, {3}, {3}},          {{1, 1}, -1, {1}, {1}},
      {{3, 33}, 1, {33}, {33}},        {{2, 1025}, 1, {1025}, {1025}},
      {{1, 5000}, 1, {5000}, {5000}},  {{4, 2, 5}, 1, {2, 5}, {2, 5}},
      {{4, 2, 5}, 1, {5}, {2, 1}},     {{4, 2, 5}, 2, {4, 1, 5}, {1}},
      {{3, 2, 1, 4}, -2, {4}, {1, 4}}, {{2, 3}, 0, {2, 3}, {3}},
  };
  for (const DType dtype : kFloats) {
    for (const LayerCase& one : cases) {
      Dims rows = one.x;
      const auto rank = static_cast<int64_t>(rows.size());
      for (int64_t i = one.axis < 0 ? one.axis + rank : one.axis; i < rank; ++i)
        rows[static_cast<size_t>(i)] = 1;
      const Operand y = {dtype, one.x}, s = {DType::kFloat32, rows};
      const Tensor x = Filled(y, 1, false), scale = Filled({dtype, one.scale}, 2, false),
                   bias = Filled({dtype, one.bias}, 3, false);
      const std::string form = absl::StrCat("<axis = ", one.axis, ", epsilon = 0.01>");
      const double tolerance = 10 * ToleranceOf(dtype);
      ExpectAsCpu(absl::StrCat("(", TextOf(y), " y, ", TextOf(s), " m, ", TextOf(s),
                               " d) { y, m, d = LayerNormalization ", form, " (a, b, c) }"),
                  {x, scale, bias}, tolerance);
      ExpectAsCpu(absl::StrCat("(", TextOf(y), " y) { y = LayerNormalization ", form, " (a, b) }"),
                  {x, scale}, tolerance);
      ExpectAsCpu(absl::StrCat("(", TextOf(y), " y) { y = RMSNormalization ", form, " (a, b) }"),
                  {x, scale}, tolerance);
      ExpectAsCpu(absl::StrCat("(", TextOf(y), " y) { y = RMSNormalization ", form, " (a, b) }"),
                  {Filled(y, 4, true), scale}, tolerance);
    }
  }
}

// Rows of a warp, of a block and of more than a block holds; packs and none; more rows than blocks.
TEST(EmulatedRows, GradientsOfLayerNormalizationAreTheCpus) {
  const Dims shapes[] = {{3, 5},    {2, 3, 33}, {2, 1024},  {70, 64}, {3, 1100}, {2, 8192},
                         {2, 4100}, {2, 2047},  {2100, 12}, {3, 1},   {0, 3}};
  for (const DType kept : kFloats) {
    const DType dtype = kept == DType::kFloat64 ? kept : DType::kFloat32;
    std::set<DType> gradients = {dtype, kept};
    if (kept == DType::kFloat32) gradients.insert({DType::kFloat16, DType::kBFloat16});
    for (const DType gradient : gradients) {
      for (const Dims& dims : shapes) {
        const Operand dx = {dtype, dims}, column = {dtype, {dims.back()}};
        const std::vector<Tensor> inputs = {Filled({kept, dims}, 1, false),
                                            Filled(column, 2, false),
                                            Filled({gradient, dims}, 3, false)};
        ExpectAsCpu(absl::StrCat("(", TextOf(dx), " dx, ", TextOf(column), " ds, ", TextOf(column),
                                 " db) { dx, ds, db = ",
                                 "onward.LayerNormalizationGradient <epsilon = 0.01> (a, b, c) }"),
                    inputs, dtype == DType::kFloat64 ? 1e-9 : 5e-4);
      }
    }
  }
}

TEST(EmulatedRows, NormalizationsOfSumsAreTheCpus) {
  const LayerCase cases[] = {{{0, 3}, -1, {3}, {3}},
                             {{3, 33}, 1, {33}, {33}},
                             {{2, 1024}, 1, {1024}, {1024}},
                             {{1, 5000}, 1, {5000}, {5000}},
                             {{4, 2, 5}, 1, {5}, {2, 1}}};
  for (const DType dtype : kFloats) {
    for (const LayerCase& one : cases) {
      const Operand x = {dtype, one.x};
      const std::vector<Tensor> inputs = {Filled(x, 1, false), Filled(x, 2, false),
                                          Filled({dtype, one.scale}, 3, false),
                                          Filled({dtype, one.bias}, 4, false)};
      const std::string form = absl::StrCat("<axis = ", one.axis, ", epsilon = 0.01>");
      const double tolerance = 10 * ToleranceOf(dtype);
      const std::string text = TextOf(x);
      ExpectAsCpu(absl::StrCat("(", text, " y, ", text, " s) { s = Add (a, b)",
                               " y = LayerNormalization ", form, " (s, c, d) }"),
                  inputs, tolerance);
      ExpectAsCpu(absl::StrCat("(", text, " y) { s = Add (a, b) y = LayerNormalization ", form,
                               " (s, c, d) }"),
                  inputs, tolerance);
      ExpectAsCpu(absl::StrCat("(", text, " y, ", text, " s) { s = Add (a, b)",
                               " y = RMSNormalization ", form, " (s, c) }"),
                  {inputs[0], inputs[1], inputs[2]}, tolerance);
    }
  }
}

// Results of 16 bits, of float and of its sum with either type.
TEST(EmulatedRows, NarrowNormalizationsAreTheCpus) {
  for (const DType narrow : {DType::kFloat16, DType::kBFloat16}) {
    for (const Dims& dims : {Dims{3, 5}, Dims{2, 3, 64}, Dims{70, 1025}, Dims{0, 3}}) {
      const Operand y = {narrow, dims}, x = {DType::kFloat32, dims},
                    column = {DType::kFloat32, {dims.back()}};
      for (const bool centered : {false, true}) {
        const std::string op =
            absl::StrCat("onward.Narrow", centered ? "Layer" : "RMS",
                         "Normalization <to = ", static_cast<int>(narrow), "> (");
        const std::string bias = centered ? ", d" : "";
        for (const DType of_z : {DType::kFloat32, narrow}) {
          std::vector<Tensor> inputs = {Filled(x, 1, false), Filled({of_z, dims}, 2, false),
                                        Filled(column, 3, false)};
          if (centered) inputs.push_back(Filled(column, 4, false));
          ExpectAsCpu(absl::StrCat("(", TextOf(y), " y, ", TextOf(x), " s) { y, s = ", op,
                                   "a, b, c", bias, ") }"),
                      inputs, 2 * ToleranceOf(narrow));
        }
        std::vector<Tensor> inputs = {Filled(x, 1, false), Filled(column, 3, false)};
        if (centered) inputs.push_back(Filled(column, 4, false));
        ExpectAsCpu(
            absl::StrCat("(", TextOf(y), " y) { y = ", op, "a, , b", centered ? ", c" : "", ") }"),
            inputs, 2 * ToleranceOf(narrow));
      }
    }
  }
}

TEST(EmulatedRows, SumsAreNormalizedByOneKernel) {
  const char* text =
      "g (float[n, 8] a, float[n, 8] b) => (float[n, 8] y, float[n, 8] s)"
      " <float[8] scale = {1, 2, 3, 4, 5, 6, 7, 8}> {"
      " s = Add (a, b) y = RMSNormalization (s, scale) }";
  const auto session = SessionOn("cuda", text);
  ASSERT_NE(session, nullptr);
  Configure({});
  const Tensor x = Filled({DType::kFloat32, {3, 8}}, 1, false);
  ASSERT_TRUE(session->Run({{"a", Value(x)}, {"b", Value(x)}}).ok());
  EXPECT_EQ(Counted().launches, 1);
}

TEST(EmulatedRows, GroupsAreTheCpus) {
  const Dims shapes[] = {{2, 4, 5}, {1, 6, 9, 40}, {3, 2, 1}, {2, 4, 0}, {0, 4, 3}, {2, 8, 33, 3}};
  for (const DType dtype : kFloats) {
    for (const Dims& dims : shapes) {
      const Operand y = {dtype, dims}, channel = {dtype, {dims[1]}};
      for (const char* op : {"InstanceNormalization <epsilon = 0.01>",
                             "GroupNormalization <epsilon = 0.01, num_groups = 2>"}) {
        ExpectAsCpu(absl::StrCat("(", TextOf(y), " y) { y = ", op, " (a, b, c) }"),
                    {Filled(y, 1, false), Filled(channel, 2, false), Filled(channel, 3, false)},
                    10 * ToleranceOf(dtype));
      }
    }
  }
}

}  // namespace
}  // namespace onward::emulated_cuda
