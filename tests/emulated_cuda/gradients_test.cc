// Gradients that one kernel computes: of activations.
#include "tests/emulated_cuda/compared_operator.h"
#include "tests/emulated_cuda/compared_session.h"

namespace onward::emulated_cuda {
namespace {

// The dtypes of a value that the forward pass keeps and of the gradient.
struct KeptPair {
  DType kept, gradient;
};
constexpr KeptPair kPairs[] = {
    {DType::kFloat32, DType::kFloat32}, {DType::kFloat64, DType::kFloat64},
    {DType::kFloat16, DType::kFloat16}, {DType::kBFloat16, DType::kBFloat16},
    {DType::kFloat16, DType::kFloat32}, {DType::kBFloat16, DType::kFloat32},
};

TEST(EmulatedGradients, OfActivationsAreTheCpus) {
  const Dims shapes[] = {{}, {0, 3}, {1}, {5, 7}, {3, 1025}};
  for (const KeptPair& pair : kPairs) {
    for (const Dims& dims : shapes) {
      const Operand dx = {pair.gradient, dims};
      const Tensor kept = Filled({pair.kept, dims}, 1, true), dy = Filled(dx, 2, true);
      Tensor low(pair.gradient, Dims{}), high(pair.gradient, Dims{1});
      DispatchDType(FloatTypes(), pair.gradient, [&](auto tag) {
        using T = typename decltype(tag)::type;
        *low.mutable_data<T>() = static_cast<T>(-1.5f);
        *high.mutable_data<T>() = static_cast<T>(2.0f);
      });
      const std::string begin = absl::StrCat("(", TextOf(dx), " y) { y = onward.");
      ExpectAsCpu(begin + "ReluGradient (a, b) }", {kept, dy}, 0);
      ExpectAsCpu(begin + "ClipGradient (a, b) }", {kept, dy}, 0);
      ExpectAsCpu(begin + "ClipGradient (a, b, c) }", {kept, dy, low}, 0);
      ExpectAsCpu(begin + "ClipGradient (a, b, \"\", c) }", {kept, dy, high}, 0);
      ExpectAsCpu(begin + "ClipGradient (a, b, c, d) }", {kept, dy, low, high}, 0);
    }
  }
}

TEST(EmulatedGradients, DimsThatDoNotFitAreTheCpusErrors) {
  const Tensor x = Filled({DType::kFloat32, {2, 3}}, 1, false),
               other = Filled({DType::kFloat32, {3, 2}}, 2, false);
  const struct {
    const char* op;
    Tensor b, c;
    const char* error;
  } cases[] = {
      {"ReluGradient (a, b)", other, x, "dY is [3,2], the activation's value [2,3]"},
      {"ClipGradient (a, b, c)", x, other, "a bound must be a scalar"},
  };
  for (const auto& one : cases) {
    const std::string text = absl::StrCat(
        "g (float[n, m] a, float[p, q] b, float[r, s] c) => (float[t, u] y) "
        "{ y = onward.",
        one.op, " }");
    for (const char* provider : {"cpu", "cuda"}) {
      const auto session = SessionOn(provider, text.c_str());
      ASSERT_NE(session, nullptr);
      const absl::Status status =
          session->Run({{"a", Value(x)}, {"b", Value(one.b)}, {"c", Value(one.c)}}).status();
      EXPECT_NE(std::string(status.message()).find(one.error), std::string::npos) << status;
    }
  }
}

}  // namespace
}  // namespace onward::emulated_cuda
