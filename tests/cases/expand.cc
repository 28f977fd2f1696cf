#include "tests/cases/cases.h"

namespace onward::cases {
namespace {

std::vector<OpCase> ExpandPart1Rows() {
  return {
      {"rows",
       "Expand",
       "",
       {},
       {Tensor::Of<float>({3, 1}, {0, 1, 2}), Tensor::Of<int64_t>({2}, {3, 4})},
       {Tensor::Of<float>({3, 4}, {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2})}},
      {"new_axes",
       "Expand",
       "",
       {},
       {Tensor::Of<float>({3}, {0, 1, 2}), Tensor::Of<int64_t>({3}, {2, 2, 3})},
       {Tensor::Of<float>({2, 2, 3}, {0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2})}},
      {"smaller_shape",
       "Expand",
       "",
       {},
       {Tensor::Of<float>({2, 3}, {0, 1, 2, 3, 4, 5}), Tensor::Of<int64_t>({1}, {3})},
       {Tensor::Of<float>({2, 3}, {0, 1, 2, 3, 4, 5})}},
      {"one_in_shape",
       "Expand",
       "",
       {},
       {Tensor::Of<float>({2, 1, 2}, {0, 1, 2, 3}), Tensor::Of<int64_t>({3}, {1, 3, 1})},
       {Tensor::Of<float>({2, 3, 2}, {0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3})}},
      {"scalar",
       "Expand",
       "",
       {},
       {Tensor::Scalar<int64_t>(7), Tensor::Of<int64_t>({2}, {2, 2})},
       {Tensor::Of<int64_t>({2, 2}, {7, 7, 7, 7})}},
      {"same",
       "Expand",
       "",
       {},
       {Tensor::Of<float>({2, 2}, {0, 1, 2, 3}), Tensor::Of<int64_t>({2}, {2, 2})},
       {Tensor::Of<float>({2, 2}, {0, 1, 2, 3})}},
      {"to_scalar",
       "Expand",
       "",
       {},
       {Tensor::Scalar<int8_t>(7), Tensor(DType::kInt64, {0})},
       {Tensor::Scalar<int8_t>(7)}},
      {"empty",
       "Expand",
       "",
       {},
       {Tensor(DType::kFloat32, {0, 1}), Tensor::Of<int64_t>({2}, {0, 4})},
       {Tensor(DType::kFloat32, {0, 4})}},
  };
}

std::vector<OpCase> ExpandPart2Rows() {
  return {
      {"zero_target",
       "Expand",
       "",
       {},
       {Tensor::Of<float>({1, 2}, {0, 1}), Tensor::Of<int64_t>({2}, {0, 2})},
       {Tensor(DType::kFloat32, {0, 2})}},
      {"string",
       "Expand",
       "",
       {},
       {Tensor::Of<std::string>({2, 1}, {"a", "b"}), Tensor::Of<int64_t>({2}, {2, 3})},
       {Tensor::Of<std::string>({2, 3}, {"a", "a", "a", "b", "b", "b"})}},
      {"bool",
       "Expand",
       "",
       {},
       {Tensor::Of<bool>({2, 1}, {true, false}), Tensor::Of<int64_t>({2}, {2, 2})},
       {Tensor::Of<bool>({2, 2}, {true, true, false, false})}},
      {"float16",
       "Expand",
       "",
       {},
       {Tensor::Of<Float16>({1}, {Float16(1.5f)}), Tensor::Of<int64_t>({1}, {3})},
       {Tensor::Of<Float16>({3}, {Float16(1.5f), Float16(1.5f), Float16(1.5f)})}},
      {"complex128",
       "Expand",
       "",
       {},
       {Tensor::Of<std::complex<double>>({1}, {std::complex<double>(1, 2)}),
        Tensor::Of<int64_t>({1}, {2})},
       {Tensor::Of<std::complex<double>>(
           {2}, {std::complex<double>(1, 2), std::complex<double>(1, 2)})}},
  };
}

std::vector<OpCase> TileRows() {
  return {
      {"matrix",
       "Tile",
       "",
       {},
       {Tensor::Of<float>({2, 3}, {0, 1, 2, 3, 4, 5}), Tensor::Of<int64_t>({2}, {2, 2})},
       {Tensor::Of<float>(
           {4, 6}, {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5, 0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5})}},
      {"once",
       "Tile",
       "",
       {},
       {Tensor::Of<float>({2, 3}, {0, 1, 2, 3, 4, 5}), Tensor::Of<int64_t>({2}, {1, 1})},
       {Tensor::Of<float>({2, 3}, {0, 1, 2, 3, 4, 5})}},
      {"zero",
       "Tile",
       "",
       {},
       {Tensor::Of<float>({2, 3}, {0, 1, 2, 3, 4, 5}), Tensor::Of<int64_t>({2}, {2, 0})},
       {Tensor(DType::kFloat32, {4, 0})}},
      {"many_times_nothing",
       "Tile",
       "",
       {},
       {Tensor(DType::kFloat32, {0, 0}),
        Tensor::Of<int64_t>({2}, {int64_t{1} << 62, int64_t{1} << 62})},
       {Tensor(DType::kFloat32, {0, 0})}},
      {"tile_scalar",
       "Tile",
       "",
       {},
       {Tensor::Scalar<float>(0), Tensor(DType::kInt64, {0})},
       {Tensor::Scalar<float>(0)}},
      {"tile_string",
       "Tile",
       "",
       {},
       {Tensor::Of<std::string>({2}, {"a", "bc"}), Tensor::Of<int64_t>({1}, {3})},
       {Tensor::Of<std::string>({6}, {"a", "bc", "a", "bc", "a", "bc"})}},
      {"three_axes",
       "Tile",
       "",
       {},
       {Tensor::Of<int16_t>({2, 1, 2}, {0, 1, 2, 3}), Tensor::Of<int64_t>({3}, {1, 3, 2})},
       {Tensor::Of<int16_t>(
           {2, 3, 4}, {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3})}},
      {"tile_empty",
       "Tile",
       "",
       {},
       {Tensor(DType::kFloat64, {0, 2}), Tensor::Of<int64_t>({2}, {2, 3})},
       {Tensor(DType::kFloat64, {0, 6})}},
  };
}

}  // namespace

std::vector<OpCase> ExpandCases() {
  std::vector<OpCase> all;
  for (auto rows : {ExpandPart1Rows, ExpandPart2Rows, TileRows}) {
    for (OpCase& c : rows()) all.push_back(std::move(c));
  }
  return all;
}

}  // namespace onward::cases
