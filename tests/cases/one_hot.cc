#include "tests/cases/cases.h"

namespace onward::cases {
namespace {

std::vector<OpCase> OneHotPart1Rows() {
  return {
      {"last",
       "OneHot",
       "",
       {},
       {Tensor::Of<int64_t>({3}, {0, 7, 8}), Tensor::Scalar<int64_t>(10),
        Tensor::Of<float>({2}, {1, 3})},
       {Tensor::Of<float>({3, 10}, {3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                    1, 1, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 1})}},
      {"first_axis",
       "OneHot",
       "",
       {{"axis", int64_t{0}}},
       {Tensor::Of<float>({2, 2}, {1, 9, 2, 4}), Tensor::Of<float>({1}, {10}),
        Tensor::Of<int32_t>({2}, {0, 1})},
       {Tensor::Of<int32_t>({10, 2, 2},
                            {0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1,
                             0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0})}},
      {"negative",
       "OneHot",
       "",
       {},
       {Tensor::Of<int64_t>({3}, {0, -7, -8}), Tensor::Scalar<int64_t>(8),
        Tensor::Of<double>({2}, {0, 1})},
       {Tensor::Of<double>(
           {3, 8}, {1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0})}},
      {"out_of_range",
       "OneHot",
       "",
       {},
       {Tensor::Of<int64_t>({3}, {3, -4, 2}), Tensor::Scalar<int32_t>(3),
        Tensor::Of<int8_t>({2}, {5, 6})},
       {Tensor::Of<int8_t>({3, 3}, {5, 5, 5, 5, 5, 5, 5, 5, 6})}},
      {"middle",
       "OneHot",
       "",
       {{"axis", int64_t{1}}},
       {Tensor::Of<uint8_t>({2, 2}, {0, 1, 1, 0}), Tensor::Scalar<uint8_t>(2),
        Tensor::Of<bool>({2}, {false, true})},
       {Tensor::Of<bool>({2, 2, 2}, {true, false, false, true, false, true, true, false})}},
      {"string",
       "OneHot",
       "",
       {},
       {Tensor::Of<int64_t>({1}, {1}), Tensor::Scalar<int64_t>(2),
        Tensor::Of<std::string>({2}, {"off", "on"})},
       {Tensor::Of<std::string>({1, 2}, {"off", "on"})}},
      {"scalar",
       "OneHot",
       "",
       {},
       {Tensor::Scalar<int64_t>(1), Tensor::Scalar<int64_t>(3), Tensor::Of<float>({2}, {0, 1})},
       {Tensor::Of<float>({3}, {0, 1, 0})}},
      {"no_depth",
       "OneHot",
       "",
       {},
       {Tensor::Of<int64_t>({2}, {1, 2}), Tensor::Scalar<int64_t>(0),
        Tensor::Of<float>({2}, {0, 1})},
       {Tensor(DType::kFloat32, {2, 0})}},
  };
}

std::vector<OpCase> OneHotPart2Rows() {
  return {
      {"empty",
       "OneHot",
       "",
       {},
       {Tensor(DType::kInt64, {0}), Tensor::Scalar<int64_t>(3), Tensor::Of<float>({2}, {0, 1})},
       {Tensor(DType::kFloat32, {0, 3})}},
      {"negative_axis",
       "OneHot",
       "",
       {{"axis", int64_t{-2}}},
       {Tensor::Of<int64_t>({2, 1}, {0, 1}), Tensor::Scalar<int64_t>(2),
        Tensor::Of<uint64_t>({2}, {0, 1})},
       {Tensor::Of<uint64_t>({2, 2, 1}, {1, 0, 0, 1})}},
      {"float16",
       "OneHot",
       "",
       {},
       {Tensor::Of<Float16>({1}, {Float16(1)}), Tensor::Scalar<Float16>(Float16(2)),
        Tensor::Of<Float16>({2}, {Float16(0), Float16(1)})},
       {Tensor::Of<Float16>({1, 2}, {Float16(0), Float16(1)})}},
  };
}

}  // namespace

std::vector<OpCase> OneHotCases() {
  std::vector<OpCase> all;
  for (auto rows : {OneHotPart1Rows, OneHotPart2Rows}) {
    for (OpCase& c : rows()) all.push_back(std::move(c));
  }
  return all;
}

}  // namespace onward::cases
