// NonZero and Compress on the device, whose outputs have the sizes that the data decides.
#include <gmock/gmock.h>

#include "tests/emulated_cuda/compared_operator.h"

namespace onward::emulated_cuda {
namespace {

// Three of four elements are 0; -0 is, and NaN is not.
Tensor Sparse(DType dtype, const Dims& dims, uint32_t seed) {
  Tensor tensor = Filled({dtype, dims}, seed, false);
  DispatchDType(Concat<FloatTypes, TypeList<bool, uint8_t, int16_t, int32_t, int64_t>>(), dtype,
                [&](auto tag) {
                  using T = typename decltype(tag)::type;
                  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
                    T& element = tensor.mutable_data<T>()[i];
                    if (i % 4 != seed % 4) element = static_cast<T>(0);
                    if constexpr (!std::is_integral_v<T>) {
                      if (i % 8 == 1) element = static_cast<T>(-0.0f);
                      if (i % 16 == 3)
                        element = static_cast<T>(std::numeric_limits<float>::quiet_NaN());
                    }
                  }
                });
  return tensor;
}

TEST(EmulatedNonZero, IsTheCpus) {
  const Dims shapes[] = {{},     {1},      {7},          {0},         {3, 0, 2},
                         {5, 9}, {300, 5}, {2, 3, 4, 5}, {1000, 300}, {70001}};
  for (const DType dtype :
       {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16, DType::kBool,
        DType::kUint8, DType::kInt16, DType::kInt32, DType::kInt64}) {
    for (const Dims& x : shapes) {
      if (x.size() == 2 && x[0] == 1000 && dtype != DType::kBool) continue;
      ExpectAsCpu(
          absl::StrCat("(int64[", std::max<size_t>(1, x.size()), ", n] y) { y = NonZero(a) }"),
          {Sparse(dtype, x, 1)}, 0);
    }
  }
}

TEST(EmulatedNonZero, CompressIsTheCpus) {
  const struct {
    Dims x;
    int64_t flags;
    const char* attributes;
    const char* y;
  } cases[] = {
      {{9}, 9, "", "n"},
      {{9}, 5, "", "n"},
      {{3, 4}, 12, "", "n"},
      {{3, 4}, 3, "<axis = 0>", "n, 4"},
      {{3, 4}, 2, "<axis = -1>", "3, n"},
      {{2, 700, 3}, 700, "<axis = 1>", "2, n, 3"},
      {{2, 0, 3}, 0, "<axis = 1>", "2, n, 3"},
      {{0, 4, 3}, 4, "<axis = 1>", "0, n, 3"},
      {{70001}, 70001, "", "n"},
  };
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kUint8, DType::kInt64}) {
    for (const auto& one : cases) {
      const std::string scalar = TextOf({dtype, {}});
      ExpectAsCpu(absl::StrCat("(", scalar.substr(0, scalar.size() - 1), one.y,
                               "] y) { y = Compress ", one.attributes, " (a, b) }"),
                  {Filled({dtype, one.x}, 1, false), Sparse(DType::kBool, {one.flags}, 2)}, 0);
    }
  }
}

TEST(EmulatedNonZero, CompressNamesWhatLiesBeyondTheAxis) {
  Configure({});
  const std::vector<Tensor> inputs = {Filled({DType::kFloat32, {3, 4}}, 1, false),
                                      Tensor::Of<bool>({5}, {true, false, false, false, true})};
  const absl::Status status =
      RunOn("cuda", "(float[n, 4] y) { y = Compress <axis = 0> (a, b) }", inputs).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              ::testing::HasSubstr("index 4 at position 4 is out of range for an axis of size 3"));
}

}  // namespace
}  // namespace onward::emulated_cuda
