// QuantizeLinear and DequantizeLinear, per tensor, per axis and per block.
#include "tests/emulated_cuda/compared_operator.h"

namespace onward::emulated_cuda {
namespace {

struct ScaleCase {
  Dims x, scale;
  const char* attributes;
};

const std::vector<ScaleCase>& Cases() {
  static const std::vector<ScaleCase> kCases = {
      {{3, 33}, {}, ""},
      {{2, 64}, {1}, ""},
      {{2, 3, 16}, {3}, "<axis = 1>"},
      {{2, 3, 5}, {3}, "<axis = -2>"},
      {{4, 6}, {6}, "<axis = 1>"},
      {{2, 6, 5}, {2, 3, 5}, "<axis = 1, block_size = 2>"},
      {{2, 5, 4}, {2, 3, 4}, "<axis = 1, block_size = 2>"},
      {{0, 4}, {}, ""},
  };
  return kCases;
}

// Positive scales, of which few are powers of two.
Tensor Scales(DType dtype, const Dims& dims) {
  Tensor scales(dtype, dims);
  DispatchDType(FloatTypes(), dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < scales.num_elements(); ++i)
      scales.mutable_data<T>()[i] = static_cast<T>(0.03f + 0.01f * static_cast<float>(i % 7));
  });
  return scales;
}

constexpr DType kFloats[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16};

TEST(EmulatedQuantize, CodesAreTheCpus) {
  for (const DType dtype : kFloats) {
    for (const DType codes : {DType::kInt8, DType::kUint8}) {
      for (const ScaleCase& one : Cases()) {
        const std::string y =
            absl::StrCat("(", TextOf({codes, one.x}), " y) { y = QuantizeLinear ", one.attributes);
        const std::vector<Tensor> inputs = {Filled({dtype, one.x}, 1, true),
                                            Scales(dtype, one.scale),
                                            Filled({codes, one.scale}, 2, false)};
        ExpectAsCpu(y + " (a, b, c) }", inputs, 0);
        if (codes == DType::kUint8) ExpectAsCpu(y + " (a, b) }", {inputs[0], inputs[1]}, 0);
      }
    }
  }
}

TEST(EmulatedQuantize, FloatsAreTheCpus) {
  for (const DType dtype : kFloats) {
    for (const DType codes : {DType::kInt8, DType::kUint8, DType::kInt32}) {
      for (const ScaleCase& one : Cases()) {
        const std::string y = absl::StrCat("(", TextOf({dtype, one.x}),
                                           " y) { y = DequantizeLinear ", one.attributes);
        const std::vector<Tensor> inputs = {Filled({codes, one.x}, 1, false),
                                            Scales(dtype, one.scale),
                                            Filled({codes, one.scale}, 2, false)};
        if (codes != DType::kInt32) ExpectAsCpu(y + " (a, b, c) }", inputs, 0);
        ExpectAsCpu(y + " (a, b) }", {inputs[0], inputs[1]}, 0);
      }
    }
  }
}

}  // namespace
}  // namespace onward::emulated_cuda
