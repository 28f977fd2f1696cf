// Elementwise operators: broadcasting, types, NaN and infinities.
#include "tests/emulated_cuda/compared_operator.h"

namespace onward::emulated_cuda {
namespace {

constexpr DType kFloats[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16};

const std::vector<Dims>& Shapes() {
  static const std::vector<Dims> kShapes = {{0}, {1}, {3, 7}, {2, 1025}};
  return kShapes;
}

TEST(EmulatedElementwise, UnaryOpsAreTheCpus) {
  const char* const ops[] = {"Abs",
                             "Acos",
                             "Acosh",
                             "Asin",
                             "Asinh",
                             "Atan",
                             "Atanh",
                             "Ceil",
                             "Celu",
                             "Cos",
                             "Cosh",
                             "Elu <alpha = 0.5>",
                             "Erf",
                             "Exp",
                             "Floor",
                             "Gelu",
                             "Gelu <approximate = \"tanh\">",
                             "HardSigmoid <alpha = 0.3>",
                             "HardSwish",
                             "LeakyRelu <alpha = 0.2>",
                             "Log",
                             "Mish",
                             "Neg",
                             "Reciprocal",
                             "Relu",
                             "Round",
                             "Selu",
                             "Shrink <bias = 0.25, lambd = 1.5>",
                             "Sigmoid",
                             "Sign",
                             "Sin",
                             "Sinh",
                             "Softplus",
                             "Softsign",
                             "Sqrt",
                             "Swish <alpha = 0.7>",
                             "Tan",
                             "Tanh",
                             "ThresholdedRelu <alpha = 0.5>"};
  for (const DType dtype : kFloats) {
    for (const Dims& dims : Shapes()) {
      for (const char* op : ops) {
        const bool is_shrink = std::string(op).find("Shrink") == 0;
        if (is_shrink && dtype == DType::kBFloat16) continue;  // the standard has none
        for (const bool special : {false, true}) {
          ExpectAsCpu(absl::StrCat("(", TextOf({dtype, dims}), " y) { y = ", op, " (a) }"),
                      {Filled({dtype, dims}, 1, special)}, ToleranceOf(dtype));
        }
      }
    }
  }
}

TEST(EmulatedElementwise, PredicatesAndIntegersAreTheCpus) {
  for (const DType dtype : kFloats) {
    for (const char* op : {"IsNaN", "IsInf", "IsInf <detect_negative = 0>"})
      ExpectAsCpu(absl::StrCat("(bool[3, 33] y) { y = ", op, " (a) }"),
                  {Filled({dtype, {3, 33}}, 1, true)}, 0);
  }
  ExpectAsCpu("(bool[33] y) { y = Not (a) }", {Filled({DType::kBool, {33}}, 1, false)}, 0);
  for (const DType dtype : {DType::kUint8, DType::kInt32, DType::kInt64}) {
    const Operand operand = {dtype, {3, 33}};
    ExpectAsCpu(absl::StrCat("(", TextOf(operand), " y) { y = BitwiseNot (a) }"),
                {Filled(operand, 1, false)}, 0);
  }
  for (const DType dtype : {DType::kInt32, DType::kInt64}) {
    const Operand operand = {dtype, {3, 33}};
    for (const char* op : {"Abs", "Neg", "Relu", "Sign"})
      ExpectAsCpu(absl::StrCat("(", TextOf(operand), " y) { y = ", op, " (a) }"),
                  {Filled(operand, 1, false)}, 0);
  }
}

struct Pair {
  Dims a, b, y;
};

const std::vector<Pair>& Pairs() {
  static const std::vector<Pair> kPairs = {{{0, 3}, {3}, {0, 3}},
                                           {{1}, {1}, {1}},
                                           {{2, 1025}, {2, 1025}, {2, 1025}},
                                           {{5, 1, 7}, {3, 1}, {5, 3, 7}},
                                           {{1, 33}, {4, 1}, {4, 33}}};
  return kPairs;
}

TEST(EmulatedElementwise, RemaindersAreTheCpus) {
  for (const Pair& pair : Pairs()) {
    for (const DType dtype : {DType::kInt32, DType::kInt64, DType::kFloat32, DType::kFloat16}) {
      for (const char* op : {"Mod", "Mod <fmod = 1>"}) {
        const bool is_float = dtype == DType::kFloat32 || dtype == DType::kFloat16;
        if (is_float && op == std::string("Mod")) continue;  // the standard has none
        ExpectAsCpu(absl::StrCat("(", TextOf({dtype, pair.y}), " y) { y = ", op, " (a, b) }"),
                    {Filled({dtype, pair.a}, 1, false), Filled({dtype, pair.b}, 2, false)},
                    ToleranceOf(dtype));
      }
    }
  }
}

TEST(EmulatedElementwise, PReluIsTheCpus) {
  const Pair pairs[] = {{{0, 3}, {3}, {0, 3}},
                        {{2, 4, 5, 16}, {4, 1, 1}, {2, 4, 5, 16}},
                        {{3, 33}, {1}, {3, 33}},
                        {{3, 33}, {3, 33}, {3, 33}}};
  for (const DType dtype : kFloats) {
    for (const Pair& pair : pairs) {
      for (const bool special : {false, true}) {
        ExpectAsCpu(absl::StrCat("(", TextOf({dtype, pair.y}), " y) { y = PRelu (a, b) }"),
                    {Filled({dtype, pair.a}, 1, special), Filled({dtype, pair.b}, 2, special)},
                    ToleranceOf(dtype));
      }
    }
  }
  const auto refused = RunOn(
      "cuda", "(float[n, 3] y) { y = PRelu (a, b) }",
      {Filled({DType::kFloat32, {1, 3}}, 1, false), Filled({DType::kFloat32, {2, 3}}, 2, false)});
  EXPECT_FALSE(refused.ok());
}

TEST(EmulatedElementwise, BinaryOpsAreTheCpus) {
  const std::vector<DType> types = {DType::kFloat32,  DType::kFloat64, DType::kFloat16,
                                    DType::kBFloat16, DType::kInt32,   DType::kInt64};
  for (const DType dtype : types) {
    for (const Pair& pair : Pairs()) {
      for (const bool special : {false, true}) {
        const std::vector<Tensor> inputs = {Filled({dtype, pair.a}, 1, special),
                                            Filled({dtype, pair.b}, 2, special)};
        for (const char* op : {"Add", "Sub", "Mul", "Div", "Max", "Min", "Pow"})
          ExpectAsCpu(absl::StrCat("(", TextOf({dtype, pair.y}), " y) { y = ", op, " (a, b) }"),
                      inputs, ToleranceOf(dtype));
        for (const char* op : {"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"})
          ExpectAsCpu(
              absl::StrCat("(", TextOf({DType::kBool, pair.y}), " y) { y = ", op, " (a, b) }"),
              inputs, 0);
      }
    }
  }
  for (const DType dtype : {DType::kUint8, DType::kInt32, DType::kInt64}) {
    for (const Pair& pair : Pairs()) {
      const std::vector<Tensor> inputs = {Filled({dtype, pair.a}, 1, false),
                                          Filled({dtype, pair.b}, 2, false)};
      for (const char* op : {"BitwiseAnd", "BitwiseOr", "BitwiseXor"})
        ExpectAsCpu(absl::StrCat("(", TextOf({dtype, pair.y}), " y) { y = ", op, " (a, b) }"),
                    inputs, 0);
    }
  }
  for (const Pair& pair : Pairs()) {
    const Operand y = {DType::kBool, pair.y};
    for (const char* op : {"And", "Or", "Xor", "Equal"})
      ExpectAsCpu(absl::StrCat("(", TextOf(y), " y) { y = ", op, " (a, b) }"),
                  {Filled({y.dtype, pair.a}, 1, false), Filled({y.dtype, pair.b}, 2, false)}, 0);
  }
}

TEST(EmulatedElementwise, PowTakesTwoTypes) {
  const Pair pair = {{5, 33}, {33}, {5, 33}};
  for (const DType base : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kInt64}) {
    for (const DType exponent : {DType::kFloat32, DType::kInt32, DType::kInt64}) {
      ExpectAsCpu(absl::StrCat("(", TextOf({base, pair.y}), " y) { y = Pow (a, b) }"),
                  {Filled({base, pair.a}, 1, false), Filled({exponent, pair.b}, 2, false)},
                  ToleranceOf(base));
    }
  }
}

TEST(EmulatedElementwise, ChainsOfOperands) {
  for (const char* op : {"Max", "Mean", "Min", "Sum"}) {
    const Tensor a = Filled({DType::kFloat32, {3, 1, 33}}, 1, true),
                 b = Filled({DType::kFloat32, {2, 1}}, 2, true),
                 c = Filled({DType::kFloat32, {33}}, 3, true);
    ExpectAsCpu(absl::StrCat("(float[3, 2, 33] y) { y = ", op, " (a, b, c) }"), {a, b, c}, 1e-6);
    ExpectAsCpu(absl::StrCat("(float[3, 1, 33] y) { t = Neg (a) y = ", op, " (t) }"), {a}, 0);
  }
}

TEST(EmulatedElementwise, GatesAndMeansAreTheCpus) {
  for (const DType dtype : kFloats) {
    for (const Dims& dims : Shapes()) {
      const std::vector<Tensor> inputs = {Filled({dtype, dims}, 1, true),
                                          Filled({dtype, dims}, 2, true)};
      for (const char* op : {"SwiGLU", "SwiGLU <alpha = 1.5>", "Mean"})
        ExpectAsCpu(absl::StrCat("(", TextOf({dtype, dims}), " y) { y = ", op, " (a, b) }"), inputs,
                    4 * ToleranceOf(dtype));
    }
  }
}

TEST(EmulatedElementwise, WhereIsTheCpus) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kInt64,
                            DType::kUint8, DType::kBool}) {
    for (const Pair& pair : Pairs()) {
      ExpectAsCpu(absl::StrCat("(", TextOf({dtype, pair.y}), " y) { y = Where (a, b, c) }"),
                  {Filled({DType::kBool, pair.a}, 1, false), Filled({dtype, pair.b}, 2, true),
                   Filled({dtype, pair.y}, 3, true)},
                  0);
    }
  }
}

TEST(EmulatedElementwise, CastIsTheCpus) {
  const DType types[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16,
                         DType::kInt32,   DType::kInt64,   DType::kBool};
  for (const DType from : types) {
    for (const DType to : types) {
      if (from == to) continue;  // no node of its own
      for (const Dims& dims : Shapes()) {
        ExpectAsCpu(absl::StrCat("(", TextOf({to, dims}),
                                 " y) { y = Cast <to = ", static_cast<int>(to), "> (a) }"),
                    {Filled({from, dims}, 1, true)}, 0);
      }
    }
  }
}

// Doubles round to 16 bits once: by way of float these would round twice.
TEST(EmulatedElementwise, CastOfDoublesRoundsOnce) {
  Tensor x(DType::kFloat64, {3});
  x.mutable_data<double>()[0] = 1 + 0x1p-11 + 0x1p-40;
  x.mutable_data<double>()[1] = -1 - 0x1p-8 - 0x1p-40;
  x.mutable_data<double>()[2] = 1e300;
  for (const DType to : {DType::kFloat16, DType::kBFloat16})
    ExpectAsCpu(absl::StrCat("(", TextOf({to, {3}}), " y) { y = Cast <to = ", static_cast<int>(to),
                             "> (a) }"),
                {x}, 0);
}

// By packs of elements and behind them, with bounds and without.
TEST(EmulatedElementwise, ClipIsTheCpus) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16,
                            DType::kInt8, DType::kUint8, DType::kInt32, DType::kInt64}) {
    for (const Dims& dims : Shapes()) {
      Tensor low = Filled({dtype, {}}, 1, false), high = low;
      DispatchDType(Concat<NumericTypes, TypeList<bool>>(), dtype, [&](auto tag) {
        using T = typename decltype(tag)::type;
        *low.mutable_data<T>() = static_cast<T>(static_cast<float>(1));
        *high.mutable_data<T>() = static_cast<T>(static_cast<float>(3));
      });
      const Tensor x = Filled({dtype, dims}, 2, true);
      const std::string y = absl::StrCat("(", TextOf({dtype, dims}), " y) { y = Clip ");
      ExpectAsCpu(y + "(a, b, c) }", {x, low, high}, 0);
      ExpectAsCpu(y + "(a, b) }", {x, low}, 0);
    }
  }
}

// Whole packs, packs that a row's end or a stride would cut, and one element for a whole row.
TEST(EmulatedElementwise, PacksOfBroadcastOperandsAreTheCpus) {
  const Pair pairs[] = {
      {{6, 16}, {16}, {6, 16}},       {{6, 16}, {6, 1}, {6, 16}}, {{2, 3, 8}, {2, 1, 8}, {2, 3, 8}},
      {{2, 3, 7}, {3, 7}, {2, 3, 7}}, {{64}, {1}, {64}},          {{4, 1, 16}, {3, 1}, {4, 3, 16}}};
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kInt64}) {
    for (const Pair& pair : pairs) {
      ExpectAsCpu(absl::StrCat("(", TextOf({dtype, pair.y}), " y) { y = Sub (a, b) }"),
                  {Filled({dtype, pair.a}, 1, false), Filled({dtype, pair.b}, 2, false)},
                  ToleranceOf(dtype));
      ExpectAsCpu(absl::StrCat("(", TextOf({DType::kBool, pair.y}), " y) { y = Less (b, a) }"),
                  {Filled({dtype, pair.a}, 1, false), Filled({dtype, pair.b}, 2, false)}, 0);
    }
  }
}

// The same elements once the token is there, which the host does not read.
TEST(EmulatedElementwise, AfterIsTheCpus) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBool}) {
    for (const Dims& dims : {Dims{}, Dims{0, 2}, Dims{3, 5}}) {
      ExpectAsCpu(
          absl::StrCat("(", TextOf({dtype, dims}), " y) { t = Exp (b) y = onward.After (a, t) }"),
          {Filled({dtype, dims}, 1, false), Filled({DType::kFloat32, {4}}, 2, false)}, 0);
    }
  }
}

}  // namespace
}  // namespace onward::emulated_cuda
