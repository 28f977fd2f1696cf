#include <limits>

#include "tests/cases/cases.h"

namespace onward::cases {
namespace {

std::vector<OpCase> ArrayFeatureExtractorRows() {
  return {
      {"extract",
       "ArrayFeatureExtractor",
       "ai.onnx.ml",
       {},
       {Tensor::Of<float>({2, 3}, {1, -2, 3, 0, 5, -6}), Tensor::Of<int64_t>({3}, {2, 0, 2})},
       {Tensor::Of<float>({2, 3}, {3, 1, 3, -6, 0, -6})}},
      {"extract_string",
       "ArrayFeatureExtractor",
       "ai.onnx.ml",
       {},
       {Tensor::Of<std::string>({2}, {"a", "b"}), Tensor::Of<int64_t>({1}, {1})},
       {Tensor::Of<std::string>({1, 1}, {"b"})}},
  };
}

std::vector<OpCase> BinarizerRows() {
  return {
      {"threshold",
       "Binarizer",
       "ai.onnx.ml",
       {{"threshold", 1.0f}},
       {Tensor::Of<float>({2, 3}, {1, -2, 3, 0, 5, -6})},
       {Tensor::Of<float>({2, 3}, {0, 0, 1, 0, 1, 0})}},
      {"int64",
       "Binarizer",
       "ai.onnx.ml",
       {},
       {Tensor::Of<int64_t>({3}, {-1, 0, 2})},
       {Tensor::Of<int64_t>({3}, {0, 0, 1})}},
  };
}

std::vector<OpCase> ScalerRows() {
  return {
      {"per_feature",
       "Scaler",
       "ai.onnx.ml",
       {{"offset", std::vector<float>{1, 2, 3}}, {"scale", std::vector<float>{2, 0.5f, -1}}},
       {Tensor::Of<float>({2, 3}, {1, -2, 3, 0, 5, -6})},
       {Tensor::Of<float>({2, 3}, {0, -2, -0.0f, -2, 1.5f, 9})}},
      {"one_for_all",
       "Scaler",
       "ai.onnx.ml",
       {{"offset", std::vector<float>{1}}, {"scale", std::vector<float>{0.5f}}},
       {Tensor::Of<int64_t>({1, 2}, {1, 2})},
       {Tensor::Of<float>({1, 2}, {0, 0.5f})}},
  };
}

std::vector<OpCase> ImputerRows() {
  return {
      {"value",
       "Imputer",
       "ai.onnx.ml",
       {{"imputed_value_floats", std::vector<float>{9, 8, 7}}, {"replaced_value_float", 5.0f}},
       {Tensor::Of<float>({2, 3}, {1, -2, 3, 0, 5, -6})},
       {Tensor::Of<float>({2, 3}, {1, -2, 3, 0, 8, -6})}},
      {"nan",
       "Imputer",
       "ai.onnx.ml",
       {{"imputed_value_floats", std::vector<float>{4}},
        {"replaced_value_float", std::numeric_limits<float>::quiet_NaN()}},
       {Tensor::Of<float>({1, 2}, {1, std::numeric_limits<float>::quiet_NaN()})},
       {Tensor::Of<float>({1, 2}, {1, 4})}},
      {"imputer_int64",
       "Imputer",
       "ai.onnx.ml",
       {{"imputed_value_int64s", std::vector<int64_t>{7}}, {"replaced_value_int64", int64_t{-1}}},
       {Tensor::Of<int64_t>({1, 2}, {-1, 3})},
       {Tensor::Of<int64_t>({1, 2}, {7, 3})}},
  };
}

std::vector<OpCase> NormalizerRows() {
  return {
      {"max",
       "Normalizer",
       "ai.onnx.ml",
       {{"norm", std::string("MAX")}},
       {Tensor::Of<float>({2, 3}, {1, -2, 3, 0, 5, 6})},
       {Tensor::Of<float>({2, 3}, {0.33333334f, -0.6666667f, 1, 0, 0.8333333f, 1})}},
      {"l1",
       "Normalizer",
       "ai.onnx.ml",
       {{"norm", std::string("L1")}},
       {Tensor::Of<float>({2, 3}, {1, -2, 3, 0, 5, 6})},
       {Tensor::Of<float>({2, 3}, {0.16666667f, -0.33333334f, 0.5f, 0, 0.45454547f, 0.54545456f})}},
      {"l2",
       "Normalizer",
       "ai.onnx.ml",
       {{"norm", std::string("L2")}},
       {Tensor::Of<float>({2, 3}, {1, -2, 3, 0, 5, 6})},
       {Tensor::Of<float>({2, 3},
                          {0.26726124f, -0.5345225f, 0.80178374f, 0, 0.6401844f, 0.76822126f})}},
      {"zeros",
       "Normalizer",
       "ai.onnx.ml",
       {{"norm", std::string("L2")}},
       {Tensor::Of<float>({1, 2}, {0, 0})},
       {Tensor::Of<float>({1, 2}, {0, 0})}},
  };
}

std::vector<OpCase> FeatureVectorizerRows() {
  return {
      {"two",
       "FeatureVectorizer",
       "ai.onnx.ml",
       {{"inputdimensions", std::vector<int64_t>{3, 1}}},
       {Tensor::Of<float>({2, 3}, {1, -2, 3, 0, 5, -6}), Tensor::Of<float>({2, 1}, {7, 8})},
       {Tensor::Of<float>({2, 4}, {1, -2, 3, 7, 0, 5, -6, 8})}},
  };
}

std::vector<OpCase> OneHotEncoderRows() {
  return {
      {"one_hot_encoder_int64",
       "OneHotEncoder",
       "ai.onnx.ml",
       {{"cats_int64s", std::vector<int64_t>{3, 1, 2}}},
       {Tensor::Of<int64_t>({3}, {1, 3, 9})},
       {Tensor::Of<float>({3, 3}, {0, 1, 0, 1, 0, 0, 0, 0, 0})}},
      {"floats_that_are_no_integers_are_no_categories",
       "OneHotEncoder",
       "ai.onnx.ml",
       {{"cats_int64s", std::vector<int64_t>{3, std::numeric_limits<int64_t>::min()}}},
       {Tensor::Of<float>({4}, {3, 1e30f, std::numeric_limits<float>::quiet_NaN(),
                                -std::numeric_limits<float>::infinity()})},
       {Tensor::Of<float>({4, 2}, {1, 0, 0, 0, 0, 0, 0, 0})}},
      {"string",
       "OneHotEncoder",
       "ai.onnx.ml",
       {{"cats_strings", std::vector<std::string>{"a", "b"}}},
       {Tensor::Of<std::string>({1, 2}, {"b", "c"})},
       {Tensor::Of<float>({1, 2, 2}, {0, 1, 0, 0})}},
  };
}

}  // namespace

std::vector<OpCase> MlFeaturesCases() {
  std::vector<OpCase> all;
  for (auto rows : {ArrayFeatureExtractorRows, BinarizerRows, ScalerRows, ImputerRows,
                    NormalizerRows, FeatureVectorizerRows, OneHotEncoderRows}) {
    for (OpCase& c : rows()) all.push_back(std::move(c));
  }
  return all;
}

}  // namespace onward::cases
