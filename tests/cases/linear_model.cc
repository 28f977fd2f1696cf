#include "tests/cases/cases.h"

namespace onward::cases {
namespace {

std::vector<OpCase> LinearRegressorRows() {
  return {
      {"two_targets",
       "LinearRegressor",
       "ai.onnx.ml",
       {{"coefficients", std::vector<float>{0.5f, -1, 2, 1, 0, -0.5f}},
        {"intercepts", std::vector<float>{0.25f, 1}},
        {"targets", int64_t{2}}},
       {Tensor::Of<float>({2, 3}, {1, -2, 3, 0, 5, -6})},
       {Tensor::Of<float>({2, 2}, {8.75f, 0.5f, -16.75f, 4})}},
      {"no_intercepts",
       "LinearRegressor",
       "ai.onnx.ml",
       {{"coefficients", std::vector<float>{0.5f, -1, 2}}},
       {Tensor::Of<float>({2, 3}, {1, -2, 3, 0, 5, -6})},
       {Tensor::Of<float>({2, 1}, {8.5f, -17})}},
  };
}

std::vector<OpCase> LinearClassifierRows() {
  return {
      {"three_none",
       "LinearClassifier",
       "ai.onnx.ml",
       {{"coefficients", std::vector<float>{0.5f, -1, 2, 1, 0, -0.5f, 1, 1, -1}},
        {"intercepts", std::vector<float>{0.25f, 1, 0}},
        {"classlabels_ints", std::vector<int64_t>{10, 20, 30}},
        {"post_transform", std::string("NONE")}},
       {Tensor::Of<float>({2, 3}, {1, -2, 3, 0, 5, -6})},
       {Tensor::Of<int64_t>({2}, {10, 30}),
        Tensor::Of<float>({2, 3}, {8.75f, 0.5f, -4, -16.75f, 4, 11})},
       1e-05,
       1e-06},
      {"three_logistic",
       "LinearClassifier",
       "ai.onnx.ml",
       {{"coefficients", std::vector<float>{0.5f, -1, 2, 1, 0, -0.5f, 1, 1, -1}},
        {"intercepts", std::vector<float>{0.25f, 1, 0}},
        {"classlabels_ints", std::vector<int64_t>{10, 20, 30}},
        {"post_transform", std::string("LOGISTIC")}},
       {Tensor::Of<float>({2, 3}, {1, -2, 3, 0, 5, -6})},
       {Tensor::Of<int64_t>({2}, {10, 30}),
        Tensor::Of<float>(
            {2, 3}, {0.9998415f, 0.6224593f, 0.01798624f, 2.980232e-08f, 0.9820138f, 0.9999833f})},
       1e-05,
       1e-06},
      {"three_softmax",
       "LinearClassifier",
       "ai.onnx.ml",
       {{"coefficients", std::vector<float>{0.5f, -1, 2, 1, 0, -0.5f, 1, 1, -1}},
        {"intercepts", std::vector<float>{0.25f, 1, 0}},
        {"classlabels_ints", std::vector<int64_t>{10, 20, 30}},
        {"post_transform", std::string("SOFTMAX")}},
       {Tensor::Of<float>({2, 3}, {1, -2, 3, 0, 5, -6})},
       {Tensor::Of<int64_t>({2}, {10, 30}),
        Tensor::Of<float>({2, 3}, {0.9997359f, 0.0002611896f, 2.901554e-06f, 8.870177e-13f,
                                   0.0009110512f, 0.999089f})},
       1e-05,
       1e-06},
      {"three_softmax_zero",
       "LinearClassifier",
       "ai.onnx.ml",
       {{"coefficients", std::vector<float>{0.5f, -1, 2, 1, 0, -0.5f, 1, 1, -1}},
        {"intercepts", std::vector<float>{0.25f, 1, 0}},
        {"classlabels_ints", std::vector<int64_t>{10, 20, 30}},
        {"post_transform", std::string("SOFTMAX_ZERO")}},
       {Tensor::Of<float>({2, 3}, {1, -2, 3, 0, 5, -6})},
       {Tensor::Of<int64_t>({2}, {10, 30}),
        Tensor::Of<float>({2, 3}, {0.9997359f, 0.0002611896f, 2.901554e-06f, 8.870177e-13f,
                                   0.0009110512f, 0.999089f})},
       1e-05,
       1e-06},
      {"binary_strings",
       "LinearClassifier",
       "ai.onnx.ml",
       {{"coefficients", std::vector<float>{0.5f, -1, 2, 1, 0, -0.5f}},
        {"intercepts", std::vector<float>{0.1f, 0.2f}},
        {"classlabels_strings", std::vector<std::string>{"no", "yes"}},
        {"post_transform", std::string("LOGISTIC")}},
       {Tensor::Of<float>({2, 3}, {1, -2, 3, 0, 5, -6})},
       {Tensor::Of<std::string>({2}, {"no", "yes"}),
        Tensor::Of<float>({2, 2}, {0.9998159f, 0.4255575f, 8.940697e-08f, 0.9608343f})},
       1e-05,
       1e-06},
      {"mirrored",
       "LinearClassifier",
       "ai.onnx.ml",
       {{"coefficients", std::vector<float>{0.5f, -1, 2}},
        {"intercepts", std::vector<float>{0.1f}},
        {"classlabels_ints", std::vector<int64_t>{0, 1}},
        {"post_transform", std::string("LOGISTIC")}},
       {Tensor::Of<float>({2, 3}, {1, -2, 3, 0, 5, -6})},
       {Tensor::Of<int64_t>({2}, {1, 0}),
        Tensor::Of<float>({2, 2}, {0.0001839995f, 0.999816f, 1, 0})},
       1e-05,
       1e-06},
  };
}

}  // namespace

std::vector<OpCase> LinearModelCases() {
  std::vector<OpCase> all;
  for (auto rows : {LinearRegressorRows, LinearClassifierRows}) {
    for (OpCase& c : rows()) all.push_back(std::move(c));
  }
  return all;
}

}  // namespace onward::cases
