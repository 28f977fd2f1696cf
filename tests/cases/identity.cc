#include "tests/cases/cases.h"
#include "tests/cases/packed.h"

namespace onward::cases {
namespace {

std::vector<OpCase> IdentityRows() {
  return {
      {"float32",
       "Identity",
       "",
       {},
       {Tensor::Of<float>({2, 2}, {1, -2, 3, 4})},
       {Tensor::Of<float>({2, 2}, {1, -2, 3, 4})}},
      {"scalar_string",
       "Identity",
       "",
       {},
       {Tensor::Scalar<std::string>("a")},
       {Tensor::Scalar<std::string>("a")}},
      {"empty",
       "Identity",
       "",
       {},
       {Tensor(DType::kInt64, {0, 3})},
       {Tensor(DType::kInt64, {0, 3})}},
      {"int4",
       "Identity",
       "",
       {},
       {Packed(DType::kInt4, {3}, {-8, 7, 1})},
       {Packed(DType::kInt4, {3}, {-8, 7, 1})}},
  };
}

std::vector<OpCase> ReshapeRows() {
  return {
      {"copy_and_infer",
       "Reshape",
       "",
       {},
       {Tensor::Of<float>({2, 3, 4}, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,
                                      12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}),
        Tensor::Of<int64_t>({2}, {0, -1})},
       {Tensor::Of<float>({2, 12}, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,
                                    12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23})}},
      {"to_scalar",
       "Reshape",
       "",
       {},
       {Tensor::Of<float>({1, 1}, {0}), Tensor(DType::kInt64, {0})},
       {Tensor::Scalar<float>(0)}},
      {"from_scalar",
       "Reshape",
       "",
       {},
       {Tensor::Scalar<float>(0), Tensor::Of<int64_t>({3}, {1, 1, -1})},
       {Tensor::Of<float>({1, 1, 1}, {0})}},
      {"empty_zero",
       "Reshape",
       "",
       {{"allowzero", int64_t{1}}},
       {Tensor(DType::kFloat32, {0, 3}), Tensor::Of<int64_t>({2}, {3, 0})},
       {Tensor(DType::kFloat32, {3, 0})}},
      {"string",
       "Reshape",
       "",
       {},
       {Tensor::Of<std::string>({4}, {"a", "bc", "def", ""}), Tensor::Of<int64_t>({2}, {2, 2})},
       {Tensor::Of<std::string>({2, 2}, {"a", "bc", "def", ""})}},
      {"copied_zero",
       "Reshape",
       "",
       {},
       {Tensor(DType::kInt8, {0, 3}), Tensor::Of<int64_t>({3}, {0, 1, 3})},
       {Tensor(DType::kInt8, {0, 1, 3})}},
      {"rank7",
       "Reshape",
       "",
       {},
       {Tensor::Of<float>({2, 3}, {0, 1, 2, 3, 4, 5}),
        Tensor::Of<int64_t>({7}, {1, 2, 1, 1, 3, 1, 1})},
       {Tensor::Of<float>({1, 2, 1, 1, 3, 1, 1}, {0, 1, 2, 3, 4, 5})}},
      {"uint2",
       "Reshape",
       "",
       {},
       {Packed(DType::kUint2, {6}, {0, 1, 2, 3, 3, 2}), Tensor::Of<int64_t>({2}, {2, 3})},
       {Packed(DType::kUint2, {2, 3}, {0, 1, 2, 3, 3, 2})}},
  };
}

std::vector<OpCase> FlattenRows() {
  return {
      {"default_axis",
       "Flatten",
       "",
       {},
       {Tensor::Of<float>({2, 3, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})},
       {Tensor::Of<float>({2, 6}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})}},
      {"axis_0",
       "Flatten",
       "",
       {{"axis", int64_t{0}}},
       {Tensor::Of<float>({2, 3}, {0, 1, 2, 3, 4, 5})},
       {Tensor::Of<float>({1, 6}, {0, 1, 2, 3, 4, 5})}},
      {"axis_rank",
       "Flatten",
       "",
       {{"axis", int64_t{2}}},
       {Tensor::Of<float>({2, 3}, {0, 1, 2, 3, 4, 5})},
       {Tensor::Of<float>({6, 1}, {0, 1, 2, 3, 4, 5})}},
      {"negative_axis",
       "Flatten",
       "",
       {{"axis", int64_t{-1}}},
       {Tensor::Of<float>({2, 3, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})},
       {Tensor::Of<float>({6, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})}},
      {"scalar",
       "Flatten",
       "",
       {{"axis", int64_t{0}}},
       {Tensor::Scalar<float>(0)},
       {Tensor::Of<float>({1, 1}, {0})}},
      {"flatten_empty",
       "Flatten",
       "",
       {{"axis", int64_t{1}}},
       {Tensor(DType::kFloat32, {0, 3, 2})},
       {Tensor(DType::kFloat32, {0, 6})}},
  };
}

std::vector<OpCase> SqueezeRows() {
  return {
      {"axes",
       "Squeeze",
       "",
       {},
       {Tensor::Of<float>({1, 3, 1}, {0, 1, 2}), Tensor::Of<int64_t>({1}, {-1})},
       {Tensor::Of<float>({1, 3}, {0, 1, 2})}},
      {"all_ones",
       "Squeeze",
       "",
       {},
       {Tensor::Of<float>({1, 3, 1}, {0, 1, 2})},
       {Tensor::Of<float>({3}, {0, 1, 2})}},
      {"squeeze_to_scalar",
       "Squeeze",
       "",
       {},
       {Tensor::Of<std::string>({1, 1}, {"x"}), Tensor::Of<int64_t>({2}, {0, 1})},
       {Tensor::Scalar<std::string>("x")}},
      {"no_axes",
       "Squeeze",
       "",
       {},
       {Tensor::Of<float>({1, 2}, {0, 1}), Tensor(DType::kInt64, {0})},
       {Tensor::Of<float>({1, 2}, {0, 1})}},
  };
}

std::vector<OpCase> UnsqueezeRows() {
  return {
      {"unsorted",
       "Unsqueeze",
       "",
       {},
       {Tensor::Of<float>({2, 3}, {0, 1, 2, 3, 4, 5}), Tensor::Of<int64_t>({2}, {3, -4})},
       {Tensor::Of<float>({1, 2, 3, 1}, {0, 1, 2, 3, 4, 5})}},
      {"unsqueeze_scalar",
       "Unsqueeze",
       "",
       {},
       {Tensor::Scalar<float>(0), Tensor::Of<int64_t>({1}, {0})},
       {Tensor::Of<float>({1}, {0})}},
      {"unsqueeze_empty",
       "Unsqueeze",
       "",
       {},
       {Tensor(DType::kFloat64, {0}), Tensor::Of<int64_t>({1}, {1})},
       {Tensor(DType::kFloat64, {0, 1})}},
  };
}

}  // namespace

std::vector<OpCase> IdentityCases() {
  std::vector<OpCase> all;
  for (auto rows : {IdentityRows, ReshapeRows, FlattenRows, SqueezeRows, UnsqueezeRows}) {
    for (OpCase& c : rows()) all.push_back(std::move(c));
  }
  return all;
}

}  // namespace onward::cases
