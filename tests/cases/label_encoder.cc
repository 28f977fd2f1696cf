#include <limits>

#include "tests/cases/cases.h"

namespace onward::cases {
namespace {

std::vector<OpCase> LabelEncoderRows() {
  return {
      {"string_int64",
       "LabelEncoder",
       "ai.onnx.ml",
       {{"keys_strings", std::vector<std::string>{"a", "b", "c"}},
        {"values_int64s", std::vector<int64_t>{0, 1, 2}},
        {"default_int64", int64_t{42}}},
       {Tensor::Of<std::string>({3}, {"a", "d", "c"})},
       {Tensor::Of<int64_t>({3}, {0, 42, 2})}},
      {"int64_string",
       "LabelEncoder",
       "ai.onnx.ml",
       {{"keys_int64s", std::vector<int64_t>{1, 5}},
        {"values_strings", std::vector<std::string>{"one", "five"}}},
       {Tensor::Of<int64_t>({3}, {5, 1, 0})},
       {Tensor::Of<std::string>({3}, {"five", "one", "_Unused"})}},
      {"float_nan",
       "LabelEncoder",
       "ai.onnx.ml",
       {{"keys_floats", std::vector<float>{1, std::numeric_limits<float>::quiet_NaN()}},
        {"values_floats", std::vector<float>{5, 6}},
        {"default_float", -1.0f}},
       {Tensor::Of<float>({3}, {std::numeric_limits<float>::quiet_NaN(), 1, 2})},
       {Tensor::Of<float>({3}, {6, 5, -1})}},
      {"tensors",
       "LabelEncoder",
       "ai.onnx.ml",
       {{"keys_tensor", Tensor::Of<std::string>({2}, {"x", "y"})},
        {"values_tensor", Tensor::Of<int16_t>({2}, {3, 4})},
        {"default_tensor", Tensor::Of<int16_t>({1}, {9})}},
       {Tensor::Of<std::string>({2}, {"y", "z"})},
       {Tensor::Of<int16_t>({2}, {4, 9})}},
  };
}

std::vector<OpCase> CategoryMapperRows() {
  return {
      {"strings",
       "CategoryMapper",
       "ai.onnx.ml",
       {{"cats_int64s", std::vector<int64_t>{7, 8}},
        {"cats_strings", std::vector<std::string>{"u", "v"}},
        {"default_int64", int64_t{-5}}},
       {Tensor::Of<std::string>({2}, {"v", "w"})},
       {Tensor::Of<int64_t>({2}, {8, -5})}},
      {"numbers",
       "CategoryMapper",
       "ai.onnx.ml",
       {{"cats_int64s", std::vector<int64_t>{7, 8}},
        {"cats_strings", std::vector<std::string>{"u", "v"}},
        {"default_string", std::string("none")}},
       {Tensor::Of<int64_t>({2}, {8, 1})},
       {Tensor::Of<std::string>({2}, {"v", "none"})}},
  };
}

}  // namespace

std::vector<OpCase> LabelEncoderCases() {
  std::vector<OpCase> all;
  for (auto rows : {LabelEncoderRows, CategoryMapperRows}) {
    for (OpCase& c : rows()) all.push_back(std::move(c));
  }
  return all;
}

}  // namespace onward::cases
