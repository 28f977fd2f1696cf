#include <limits>

#include "tests/cases/cases.h"

namespace onward::cases {
namespace {

std::vector<OpCase> NonZeroPart1Rows() {
  return {
      {"bool",
       "NonZero",
       "",
       {},
       {Tensor::Of<bool>({2, 2}, {true, false, true, true})},
       {Tensor::Of<int64_t>({2, 3}, {0, 1, 1, 0, 0, 1})}},
      {"three_axes",
       "NonZero",
       "",
       {},
       {Tensor::Of<bool>({2, 2, 3}, {false, true, false, false, true, false, false, true, false,
                                     false, true, false})},
       {Tensor::Of<int64_t>({3, 4}, {0, 0, 1, 1, 0, 1, 0, 1, 1, 1, 1, 1})}},
      {"none",
       "NonZero",
       "",
       {},
       {Tensor::Of<int32_t>({2, 2}, {0, 0, 0, 0})},
       {Tensor(DType::kInt64, {2, 0})}},
      {"scalar_true",
       "NonZero",
       "",
       {},
       {Tensor::Scalar<int64_t>(5)},
       {Tensor::Of<int64_t>({1, 1}, {0})}},
      {"scalar_false",
       "NonZero",
       "",
       {},
       {Tensor::Scalar<float>(0)},
       {Tensor(DType::kInt64, {1, 0})}},
      {"empty",
       "NonZero",
       "",
       {},
       {Tensor(DType::kFloat32, {2, 0, 3})},
       {Tensor(DType::kInt64, {3, 0})}},
      {"float16",
       "NonZero",
       "",
       {},
       {Tensor::Of<Float16>({3}, {Float16(0), Float16(1), Float16(-0)})},
       {Tensor::Of<int64_t>({1, 1}, {1})}},
      {"nan",
       "NonZero",
       "",
       {},
       {Tensor::Of<double>({2}, {std::numeric_limits<float>::quiet_NaN(), 0})},
       {Tensor::Of<int64_t>({1, 1}, {0})}},
  };
}

std::vector<OpCase> NonZeroPart2Rows() {
  return {
      {"uint8",
       "NonZero",
       "",
       {},
       {Tensor::Of<uint8_t>({2}, {0, 3})},
       {Tensor::Of<int64_t>({1, 1}, {1})}},
      {"complex",
       "NonZero",
       "",
       {},
       {Tensor::Of<std::complex<float>>({2},
                                        {std::complex<float>(0, 0), std::complex<float>(0, 1)})},
       {Tensor::Of<int64_t>({1, 1}, {1})}},
      {"string",
       "NonZero",
       "",
       {},
       {Tensor::Of<std::string>({2}, {"", "a"})},
       {Tensor::Of<int64_t>({1, 1}, {1})}},
  };
}

std::vector<OpCase> CompressPart1Rows() {
  return {
      {"rows",
       "Compress",
       "",
       {{"axis", int64_t{0}}},
       {Tensor::Of<float>({3, 2}, {0, 1, 2, 3, 4, 5}), Tensor::Of<bool>({3}, {false, true, true})},
       {Tensor::Of<float>({2, 2}, {2, 3, 4, 5})}},
      {"columns",
       "Compress",
       "",
       {{"axis", int64_t{1}}},
       {Tensor::Of<float>({3, 2}, {0, 1, 2, 3, 4, 5}), Tensor::Of<bool>({2}, {false, true})},
       {Tensor::Of<float>({3, 1}, {1, 3, 5})}},
      {"flat",
       "Compress",
       "",
       {},
       {Tensor::Of<float>({3, 2}, {0, 1, 2, 3, 4, 5}),
        Tensor::Of<bool>({5}, {false, true, false, false, true})},
       {Tensor::Of<float>({2}, {1, 4})}},
      {"negative_axis",
       "Compress",
       "",
       {{"axis", int64_t{-1}}},
       {Tensor::Of<float>({2, 3}, {0, 1, 2, 3, 4, 5}), Tensor::Of<bool>({3}, {true, false, true})},
       {Tensor::Of<float>({2, 2}, {0, 2, 3, 5})}},
      {"short",
       "Compress",
       "",
       {},
       {Tensor::Of<float>({4}, {0, 1, 2, 3}), Tensor::Of<bool>({1}, {true})},
       {Tensor::Of<float>({1}, {0})}},
      {"compress_none",
       "Compress",
       "",
       {{"axis", int64_t{0}}},
       {Tensor::Of<float>({2, 2}, {0, 1, 2, 3}), Tensor::Of<bool>({2}, {false, false})},
       {Tensor(DType::kFloat32, {0, 2})}},
      {"compress_string",
       "Compress",
       "",
       {{"axis", int64_t{0}}},
       {Tensor::Of<std::string>({3}, {"a", "b", "c"}), Tensor::Of<bool>({3}, {true, false, true})},
       {Tensor::Of<std::string>({2}, {"a", "c"})}},
      {"long_but_false",
       "Compress",
       "",
       {{"axis", int64_t{0}}},
       {Tensor::Of<float>({2}, {0, 1}), Tensor::Of<bool>({4}, {false, true, false, false})},
       {Tensor::Of<float>({1}, {1})}},
  };
}

std::vector<OpCase> CompressPart2Rows() {
  return {
      {"empty_condition",
       "Compress",
       "",
       {{"axis", int64_t{1}}},
       {Tensor::Of<float>({2, 2}, {0, 1, 2, 3}), Tensor(DType::kBool, {0})},
       {Tensor(DType::kFloat32, {2, 0})}},
  };
}

}  // namespace

std::vector<OpCase> NonZeroCases() {
  std::vector<OpCase> all;
  for (auto rows : {NonZeroPart1Rows, NonZeroPart2Rows, CompressPart1Rows, CompressPart2Rows}) {
    for (OpCase& c : rows()) all.push_back(std::move(c));
  }
  return all;
}

}  // namespace onward::cases
