// Gradients that one kernel computes: of activations and of MaxPool.
#include <random>

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

// Whole numbers of few values, so that windows have several largest elements.
Tensor Coarse(const Operand& operand, std::mt19937& random, bool special) {
  Tensor tensor(operand.dtype, operand.dims);
  DispatchDType(FloatTypes(), operand.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < tensor.num_elements(); ++i) {
      const uint32_t drawn = random() % 64;
      float value = static_cast<float>(drawn % 7) - 3;
      if (special && drawn == 0) value = std::nanf("");
      if (special && drawn > 58) value = -std::numeric_limits<float>::infinity();
      tensor.mutable_data<T>()[i] = static_cast<T>(value);
    }
  });
  return tensor;
}

struct Windows {
  std::string attributes;
  Dims x, y;
};

Windows DrawWindows(std::mt19937& random, size_t axes) {
  const auto draw = [&](int64_t least, int64_t most) {
    return least + static_cast<int64_t>(random() % static_cast<uint32_t>(most - least + 1));
  };
  Windows result;
  result.x = result.y = {draw(0, 9) == 0 ? 0 : draw(1, 2), draw(1, 3)};
  Dims kernel(axes), strides(axes), dilations(axes), pads(2 * axes);
  for (size_t i = 0; i < axes; ++i) {
    kernel[i] = draw(1, 3);
    strides[i] = draw(1, 3);
    dilations[i] = draw(1, 2);
    pads[i] = draw(0, kernel[i] - 1);
    pads[axes + i] = draw(0, kernel[i] - 1);
    const int64_t extent = (kernel[i] - 1) * dilations[i] + 1, input = draw(extent, 9);
    result.x.push_back(input);
    result.y.push_back((input + pads[i] + pads[axes + i] - extent) / strides[i] + 1);
  }
  result.attributes =
      absl::StrCat("<kernel_shape = [", absl::StrJoin(kernel, ", "), "], strides = [",
                   absl::StrJoin(strides, ", "), "], dilations = [", absl::StrJoin(dilations, ", "),
                   "], pads = [", absl::StrJoin(pads, ", "), "]>");
  return result;
}

TEST(EmulatedGradients, OfMaxPoolAreTheCpus) {
  for (uint32_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    const Windows windows = DrawWindows(random, 1 + seed % 3);
    for (const KeptPair& pair : kPairs) {
      const bool whole = pair.gradient == DType::kFloat32 || pair.gradient == DType::kFloat64;
      const Tensor x = Coarse({pair.kept, windows.x}, random, whole && seed % 3 < 2);
      const Tensor dy = Filled({pair.gradient, windows.y}, seed, false);
      ExpectAsCpu(
          absl::StrCat("(", TextOf({pair.gradient, windows.x}), " y) { y = onward.MaxPoolGradient ",
                       windows.attributes, " (a, b) }"),
          {x, dy}, whole ? 0 : 4 * ToleranceOf(pair.gradient));
    }
  }
}

TEST(EmulatedGradients, OfLargeMaxPoolsAreTheCpus) {
  const Windows cases[] = {
      {"<kernel_shape = [2, 2], strides = [2, 2]>", {2, 3, 33, 40}, {2, 3, 16, 20}},
      {"<kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]>",
       {1, 4, 32, 31},
       {1, 4, 16, 16}},
      {"<kernel_shape = [5, 5], ceil_mode = 1, strides = [3, 3]>", {1, 2, 30, 21}, {1, 2, 10, 7}},
      {"<kernel_shape = [2, 2], auto_pad = \"SAME_UPPER\">", {1, 1, 5, 5}, {1, 1, 5, 5}},
      {"<kernel_shape = [1, 1], strides = [4, 4]>", {1, 1, 9, 9}, {1, 1, 3, 3}},
  };
  std::mt19937 random(5);
  for (const Windows& one : cases) {
    ExpectAsCpu(absl::StrCat("(", TextOf({DType::kFloat32, one.x}),
                             " y) { y = onward.MaxPoolGradient ", one.attributes, " (a, b) }"),
                {Coarse({DType::kFloat32, one.x}, random, true),
                 Filled({DType::kFloat32, one.y}, 2, false)},
                0);
  }
  const Tensor x = Filled({DType::kFloat32, {1, 1, 4, 4}}, 1, false);
  for (const char* provider : {"cpu", "cuda"}) {
    const absl::Status status =
        RunOn(provider,
              "(float[1, 1, 4, 4] y) { y = onward.MaxPoolGradient <kernel_shape = [2, 2]> (a, b) }",
              {x, x})
            .status();
    EXPECT_NE(std::string(status.message()).find("dY is [1,1,4,4], the pool's output [1,1,3,3]"),
              std::string::npos)
        << status;
  }
}

}  // namespace
}  // namespace onward::emulated_cuda
