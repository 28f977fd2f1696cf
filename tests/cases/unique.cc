#include <limits>

#include "tests/cases/cases.h"

namespace onward::cases {
namespace {

std::vector<OpCase> UniquePart1Rows() {
  return {
      {"flat",
       "Unique",
       "",
       {},
       {Tensor::Of<float>({6}, {2, 1, 1, 3, 4, 3})},
       {Tensor::Of<float>({4}, {1, 2, 3, 4}), Tensor::Of<int64_t>({4}, {1, 0, 3, 4}),
        Tensor::Of<int64_t>({6}, {1, 0, 0, 2, 3, 2}), Tensor::Of<int64_t>({4}, {2, 1, 2, 1})}},
      {"unsorted",
       "Unique",
       "",
       {{"sorted", int64_t{0}}},
       {Tensor::Of<float>({6}, {2, 1, 1, 3, 4, 3})},
       {Tensor::Of<float>({4}, {2, 1, 3, 4}), Tensor::Of<int64_t>({4}, {0, 1, 3, 4}),
        Tensor::Of<int64_t>({6}, {0, 1, 1, 2, 3, 2}), Tensor::Of<int64_t>({4}, {1, 2, 2, 1})}},
      {"rows",
       "Unique",
       "",
       {{"axis", int64_t{0}}},
       {Tensor::Of<float>({3, 3}, {1, 0, 0, 1, 0, 0, 2, 3, 4})},
       {Tensor::Of<float>({2, 3}, {1, 0, 0, 2, 3, 4}), Tensor::Of<int64_t>({2}, {0, 2}),
        Tensor::Of<int64_t>({3}, {0, 0, 1}), Tensor::Of<int64_t>({2}, {2, 1})}},
      {"columns",
       "Unique",
       "",
       {{"axis", int64_t{-1}}},
       {Tensor::Of<int32_t>({3, 3}, {1, 0, 0, 1, 0, 0, 2, 3, 3})},
       {Tensor::Of<int32_t>({3, 2}, {0, 1, 0, 1, 3, 2}), Tensor::Of<int64_t>({2}, {1, 0}),
        Tensor::Of<int64_t>({3}, {1, 0, 0}), Tensor::Of<int64_t>({2}, {2, 1})}},
      {"rows_unsorted",
       "Unique",
       "",
       {{"axis", int64_t{0}}, {"sorted", int64_t{0}}},
       {Tensor::Of<int8_t>({3, 2}, {2, 3, 1, 0, 2, 3})},
       {Tensor::Of<int8_t>({2, 2}, {2, 3, 1, 0}), Tensor::Of<int64_t>({2}, {0, 1}),
        Tensor::Of<int64_t>({3}, {0, 1, 0}), Tensor::Of<int64_t>({2}, {2, 1})}},
      {"three_axes",
       "Unique",
       "",
       {{"axis", int64_t{1}}},
       {Tensor::Of<double>({2, 4, 2}, {1, 1, 0, 1, 2, 1, 0, 1, 1, 1, 0, 1, 2, 1, 0, 1})},
       {Tensor::Of<double>({2, 3, 2}, {0, 1, 1, 1, 2, 1, 0, 1, 1, 1, 2, 1}),
        Tensor::Of<int64_t>({3}, {1, 0, 2}), Tensor::Of<int64_t>({4}, {1, 0, 2, 0}),
        Tensor::Of<int64_t>({3}, {2, 1, 1})}},
      {"strings",
       "Unique",
       "",
       {},
       {Tensor::Of<std::string>({4}, {"b", "a", "b", ""})},
       {Tensor::Of<std::string>({3}, {"", "a", "b"}), Tensor::Of<int64_t>({3}, {3, 1, 0}),
        Tensor::Of<int64_t>({4}, {2, 1, 2, 0}), Tensor::Of<int64_t>({3}, {1, 1, 2})}},
      {"one",
       "Unique",
       "",
       {},
       {Tensor::Of<uint8_t>({1}, {7})},
       {Tensor::Of<uint8_t>({1}, {7}), Tensor::Of<int64_t>({1}, {0}), Tensor::Of<int64_t>({1}, {0}),
        Tensor::Of<int64_t>({1}, {1})}},
  };
}

std::vector<OpCase> UniquePart2Rows() {
  return {
      {"bool",
       "Unique",
       "",
       {},
       {Tensor::Of<bool>({3}, {true, false, true})},
       {Tensor::Of<bool>({2}, {false, true}), Tensor::Of<int64_t>({2}, {1, 0}),
        Tensor::Of<int64_t>({3}, {1, 0, 1}), Tensor::Of<int64_t>({2}, {1, 2})}},
      {"empty",
       "Unique",
       "",
       {},
       {Tensor(DType::kInt64, {0})},
       {Tensor(DType::kInt64, {0}), Tensor(DType::kInt64, {0}), Tensor(DType::kInt64, {0}),
        Tensor(DType::kInt64, {0})}},
      {"nan",
       "Unique",
       "",
       {},
       {Tensor::Of<float>({3}, {std::numeric_limits<float>::quiet_NaN(), 1,
                                std::numeric_limits<float>::quiet_NaN()})},
       {Tensor::Of<float>({2}, {1, std::numeric_limits<float>::quiet_NaN()}),
        Tensor::Of<int64_t>({2}, {1, 0}), Tensor::Of<int64_t>({3}, {1, 0, 1}),
        Tensor::Of<int64_t>({2}, {1, 2})}},
      {"float16",
       "Unique",
       "",
       {},
       {Tensor::Of<Float16>({3}, {Float16(2), Float16(1), Float16(2)})},
       {Tensor::Of<Float16>({2}, {Float16(1), Float16(2)}), Tensor::Of<int64_t>({2}, {1, 0}),
        Tensor::Of<int64_t>({3}, {1, 0, 1}), Tensor::Of<int64_t>({2}, {1, 2})}},
      {"only_values",
       "Unique",
       "",
       {},
       {Tensor::Of<int64_t>({3}, {3, 1, 3})},
       {Tensor::Of<int64_t>({2}, {1, 3}), Tensor(), Tensor(), Tensor::Of<int64_t>({2}, {1, 2})}},
  };
}

}  // namespace

std::vector<OpCase> UniqueCases() {
  std::vector<OpCase> all;
  for (auto rows : {UniquePart1Rows, UniquePart2Rows}) {
    for (OpCase& c : rows()) all.push_back(std::move(c));
  }
  return all;
}

}  // namespace onward::cases
