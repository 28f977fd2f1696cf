#include "tests/cases/cases.h"

namespace onward::cases {
namespace {

std::vector<OpCase> ConcatPart1Rows() {
  return {
      {"rows",
       "Concat",
       "",
       {{"axis", int64_t{0}}},
       {Tensor::Of<float>({1, 3}, {0, 1, 2}), Tensor::Of<float>({2, 3}, {0, 1, 2, 3, 4, 5})},
       {Tensor::Of<float>({3, 3}, {0, 1, 2, 0, 1, 2, 3, 4, 5})}},
      {"columns",
       "Concat",
       "",
       {{"axis", int64_t{1}}},
       {Tensor::Of<float>({2, 1}, {0, 1}), Tensor::Of<float>({2, 3}, {0, 1, 2, 3, 4, 5}),
        Tensor::Of<float>({2, 2}, {0, 1, 2, 3})},
       {Tensor::Of<float>({2, 6}, {0, 0, 1, 2, 0, 1, 1, 3, 4, 5, 2, 3})}},
      {"negative",
       "Concat",
       "",
       {{"axis", int64_t{-1}}},
       {Tensor::Of<float>({2, 2, 1}, {0, 1, 2, 3}),
        Tensor::Of<float>({2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7})},
       {Tensor::Of<float>({2, 2, 3}, {0, 0, 1, 1, 2, 3, 2, 4, 5, 3, 6, 7})}},
      {"one",
       "Concat",
       "",
       {{"axis", int64_t{0}}},
       {Tensor::Of<float>({2, 2}, {0, 1, 2, 3})},
       {Tensor::Of<float>({2, 2}, {0, 1, 2, 3})}},
      {"empty_part",
       "Concat",
       "",
       {{"axis", int64_t{1}}},
       {Tensor::Of<float>({2, 2}, {0, 1, 2, 3}), Tensor(DType::kFloat32, {2, 0}),
        Tensor::Of<float>({2, 1}, {0, 1})},
       {Tensor::Of<float>({2, 3}, {0, 1, 0, 2, 3, 1})}},
      {"all_empty",
       "Concat",
       "",
       {{"axis", int64_t{0}}},
       {Tensor(DType::kInt8, {0, 2}), Tensor(DType::kInt8, {0, 2})},
       {Tensor(DType::kInt8, {0, 2})}},
      {"string",
       "Concat",
       "",
       {{"axis", int64_t{0}}},
       {Tensor::Of<std::string>({1}, {"a"}), Tensor::Of<std::string>({2}, {"b", "c"})},
       {Tensor::Of<std::string>({3}, {"a", "b", "c"})}},
      {"middle",
       "Concat",
       "",
       {{"axis", int64_t{1}}},
       {Tensor::Of<int64_t>({2, 1, 2}, {0, 1, 2, 3}),
        Tensor::Of<int64_t>({2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7})},
       {Tensor::Of<int64_t>({2, 3, 2}, {0, 1, 0, 1, 2, 3, 2, 3, 4, 5, 6, 7})}},
  };
}

std::vector<OpCase> ConcatPart2Rows() {
  return {
      {"bool",
       "Concat",
       "",
       {{"axis", int64_t{0}}},
       {Tensor::Of<bool>({1}, {true}), Tensor::Of<bool>({2}, {false, true})},
       {Tensor::Of<bool>({3}, {true, false, true})}},
      {"complex64",
       "Concat",
       "",
       {{"axis", int64_t{0}}},
       {Tensor::Of<std::complex<float>>({1}, {std::complex<float>(1, 1)}),
        Tensor::Of<std::complex<float>>({1}, {std::complex<float>(1, 1)})},
       {Tensor::Of<std::complex<float>>({2},
                                        {std::complex<float>(1, 1), std::complex<float>(1, 1)})}},
      {"int16",
       "Concat",
       "",
       {{"axis", int64_t{1}}},
       {Tensor::Of<int16_t>({2, 1}, {1, 2}), Tensor::Of<int16_t>({2, 2}, {3, 4, 5, 6})},
       {Tensor::Of<int16_t>({2, 3}, {1, 3, 4, 2, 5, 6})}},
  };
}

std::vector<OpCase> SplitPart1Rows() {
  return {
      {"even",
       "Split",
       "",
       {{"axis", int64_t{1}}, {"num_outputs", int64_t{3}}},
       {Tensor::Of<float>({2, 6}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})},
       {Tensor::Of<float>({2, 2}, {0, 1, 6, 7}), Tensor::Of<float>({2, 2}, {2, 3, 8, 9}),
        Tensor::Of<float>({2, 2}, {4, 5, 10, 11})}},
      {"uneven",
       "Split",
       "",
       {{"axis", int64_t{0}}, {"num_outputs", int64_t{3}}},
       {Tensor::Of<float>({7}, {0, 1, 2, 3, 4, 5, 6})},
       {Tensor::Of<float>({3}, {0, 1, 2}), Tensor::Of<float>({3}, {3, 4, 5}),
        Tensor::Of<float>({1}, {6})}},
      {"sizes",
       "Split",
       "",
       {{"axis", int64_t{-1}}},
       {Tensor::Of<float>({2, 6}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}),
        Tensor::Of<int64_t>({3}, {1, 0, 5})},
       {Tensor::Of<float>({2, 1}, {0, 6}), Tensor(DType::kFloat32, {2, 0}),
        Tensor::Of<float>({2, 5}, {1, 2, 3, 4, 5, 7, 8, 9, 10, 11})}},
      {"split_rows",
       "Split",
       "",
       {{"axis", int64_t{0}}},
       {Tensor::Of<int64_t>({4, 2}, {0, 1, 2, 3, 4, 5, 6, 7}), Tensor::Of<int64_t>({2}, {1, 3})},
       {Tensor::Of<int64_t>({1, 2}, {0, 1}), Tensor::Of<int64_t>({3, 2}, {2, 3, 4, 5, 6, 7})}},
      {"split_string",
       "Split",
       "",
       {{"axis", int64_t{0}}},
       {Tensor::Of<std::string>({3}, {"a", "b", "c"}), Tensor::Of<int64_t>({2}, {2, 1})},
       {Tensor::Of<std::string>({2}, {"a", "b"}), Tensor::Of<std::string>({1}, {"c"})}},
      {"empty",
       "Split",
       "",
       {{"axis", int64_t{0}}, {"num_outputs", int64_t{2}}},
       {Tensor(DType::kFloat32, {0, 2})},
       {Tensor(DType::kFloat32, {0, 2}), Tensor(DType::kFloat32, {0, 2})}},
      {"split_one",
       "Split",
       "",
       {{"axis", int64_t{0}}, {"num_outputs", int64_t{1}}},
       {Tensor::Of<float>({3}, {0, 1, 2})},
       {Tensor::Of<float>({3}, {0, 1, 2})}},
      {"uneven_many",
       "Split",
       "",
       {{"axis", int64_t{0}}, {"num_outputs", int64_t{3}}},
       {Tensor::Of<float>({4}, {0, 1, 2, 3})},
       {Tensor::Of<float>({2}, {0, 1}), Tensor::Of<float>({2}, {2, 3}),
        Tensor(DType::kFloat32, {0})}},
  };
}

std::vector<OpCase> SplitPart2Rows() {
  return {
      {"uint8",
       "Split",
       "",
       {{"axis", int64_t{1}}},
       {Tensor::Of<uint8_t>({2, 2, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}),
        Tensor::Of<int64_t>({2}, {1, 1})},
       {Tensor::Of<uint8_t>({2, 1, 3}, {0, 1, 2, 6, 7, 8}),
        Tensor::Of<uint8_t>({2, 1, 3}, {3, 4, 5, 9, 10, 11})}},
  };
}

}  // namespace

std::vector<OpCase> ConcatCases() {
  std::vector<OpCase> all;
  for (auto rows : {ConcatPart1Rows, ConcatPart2Rows, SplitPart1Rows, SplitPart2Rows}) {
    for (OpCase& c : rows()) all.push_back(std::move(c));
  }
  return all;
}

}  // namespace onward::cases
