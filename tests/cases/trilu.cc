#include <limits>

#include "tests/cases/cases.h"

namespace onward::cases {
namespace {

std::vector<OpCase> TriluPart1Rows() {
  return {
      {"upper",
       "Trilu",
       "",
       {{"upper", int64_t{1}}},
       {Tensor::Of<float>({3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})},
       {Tensor::Of<float>({3, 4}, {1, 2, 3, 4, 0, 6, 7, 8, 0, 0, 11, 12})}},
      {"lower",
       "Trilu",
       "",
       {{"upper", int64_t{0}}},
       {Tensor::Of<float>({3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})},
       {Tensor::Of<float>({3, 4}, {1, 0, 0, 0, 5, 6, 0, 0, 9, 10, 11, 0})}},
      {"k1",
       "Trilu",
       "",
       {{"upper", int64_t{1}}},
       {Tensor::Of<float>({3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}),
        Tensor::Scalar<int64_t>(1)},
       {Tensor::Of<float>({3, 4}, {0, 2, 3, 4, 0, 0, 7, 8, 0, 0, 0, 12})}},
      {"k_1",
       "Trilu",
       "",
       {{"upper", int64_t{1}}},
       {Tensor::Of<float>({3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}),
        Tensor::Scalar<int64_t>(-1)},
       {Tensor::Of<float>({3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 0, 10, 11, 12})}},
      {"lower_k1",
       "Trilu",
       "",
       {{"upper", int64_t{0}}},
       {Tensor::Of<float>({3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}),
        Tensor::Scalar<int64_t>(1)},
       {Tensor::Of<float>({3, 4}, {1, 2, 0, 0, 5, 6, 7, 0, 9, 10, 11, 12})}},
      {"lower_k_2",
       "Trilu",
       "",
       {{"upper", int64_t{0}}},
       {Tensor::Of<float>({3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}),
        Tensor::Scalar<int64_t>(-2)},
       {Tensor::Of<float>({3, 4}, {0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0})}},
      {"far",
       "Trilu",
       "",
       {{"upper", int64_t{1}}},
       {Tensor::Of<float>({3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}),
        Tensor::Scalar<int64_t>(4611686018427387904)},
       {Tensor::Of<float>({3, 4}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})}},
      {"far_down",
       "Trilu",
       "",
       {{"upper", int64_t{0}}},
       {Tensor::Of<float>({3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}),
        Tensor::Scalar<int64_t>(std::numeric_limits<int64_t>::min())},
       {Tensor::Of<float>({3, 4}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})}},
  };
}

std::vector<OpCase> TriluPart2Rows() {
  return {
      {"batch",
       "Trilu",
       "",
       {{"upper", int64_t{1}}},
       {Tensor::Of<int64_t>({2, 3, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}),
        Tensor::Scalar<int64_t>(0)},
       {Tensor::Of<int64_t>({2, 3, 2}, {0, 1, 0, 3, 0, 0, 6, 7, 0, 9, 0, 0})}},
      {"bool",
       "Trilu",
       "",
       {{"upper", int64_t{1}}},
       {Tensor::Of<bool>({2, 2}, {true, true, true, true})},
       {Tensor::Of<bool>({2, 2}, {true, true, false, true})}},
      {"empty",
       "Trilu",
       "",
       {{"upper", int64_t{1}}},
       {Tensor(DType::kFloat32, {2, 0, 3}), Tensor::Scalar<int64_t>(1)},
       {Tensor(DType::kFloat32, {2, 0, 3})}},
      {"string",
       "Trilu",
       "",
       {{"upper", int64_t{1}}},
       {Tensor::Of<std::string>({2, 2}, {"a", "b", "c", "d"})},
       {Tensor::Of<std::string>({2, 2}, {"a", "b", "", "d"})}},
      {"no_columns",
       "Trilu",
       "",
       {{"upper", int64_t{1}}},
       {Tensor(DType::kInt8, {3, 0})},
       {Tensor(DType::kInt8, {3, 0})}},
  };
}

std::vector<OpCase> ReverseSequenceRows() {
  return {
      {"time_first",
       "ReverseSequence",
       "",
       {{"batch_axis", int64_t{1}}, {"time_axis", int64_t{0}}},
       {Tensor::Of<float>({4, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}),
        Tensor::Of<int64_t>({3}, {0, 4, 2})},
       {Tensor::Of<float>({4, 3}, {0, 10, 5, 3, 7, 2, 6, 4, 8, 9, 1, 11})}},
      {"batch_first",
       "ReverseSequence",
       "",
       {{"batch_axis", int64_t{0}}, {"time_axis", int64_t{1}}},
       {Tensor::Of<float>({3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}),
        Tensor::Of<int64_t>({3}, {1, 3, 4})},
       {Tensor::Of<float>({3, 4}, {0, 1, 2, 3, 6, 5, 4, 7, 11, 10, 9, 8})}},
      {"inner",
       "ReverseSequence",
       "",
       {{"batch_axis", int64_t{0}}, {"time_axis", int64_t{1}}},
       {Tensor::Of<float>({2, 3, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}),
        Tensor::Of<int64_t>({2}, {2, 3})},
       {Tensor::Of<float>({2, 3, 2}, {2, 3, 0, 1, 4, 5, 10, 11, 8, 9, 6, 7})}},
      {"reverse_sequence_string",
       "ReverseSequence",
       "",
       {{"batch_axis", int64_t{0}}, {"time_axis", int64_t{1}}},
       {Tensor::Of<std::string>({2, 2}, {"a", "b", "c", "d"}), Tensor::Of<int64_t>({2}, {2, 1})},
       {Tensor::Of<std::string>({2, 2}, {"b", "a", "c", "d"})}},
      {"reverse_sequence_empty",
       "ReverseSequence",
       "",
       {{"batch_axis", int64_t{0}}, {"time_axis", int64_t{1}}},
       {Tensor(DType::kFloat32, {0, 3}), Tensor(DType::kInt64, {0})},
       {Tensor(DType::kFloat32, {0, 3})}},
      {"int8_time_first_inner",
       "ReverseSequence",
       "",
       {{"batch_axis", int64_t{1}}, {"time_axis", int64_t{0}}},
       {Tensor::Of<int8_t>({3, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}),
        Tensor::Of<int64_t>({2}, {3, 2})},
       {Tensor::Of<int8_t>({3, 2, 2}, {8, 9, 6, 7, 4, 5, 2, 3, 0, 1, 10, 11})}},
  };
}

}  // namespace

std::vector<OpCase> TriluCases() {
  std::vector<OpCase> all;
  for (auto rows : {TriluPart1Rows, TriluPart2Rows, ReverseSequenceRows}) {
    for (OpCase& c : rows()) all.push_back(std::move(c));
  }
  return all;
}

}  // namespace onward::cases
