// The parts that classifiers and regressors of ai.onnx.ml share: post_transform, class labels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "onward/kernel.h"

namespace onward::kernels::cpu {

enum class PostTransform : uint8_t { kNone, kSoftmax, kLogistic, kSoftmaxZero, kProbit };

// By the name that the attribute post_transform holds; InvalidArgument for another one.
absl::StatusOr<PostTransform> PostTransformFromName(const std::string& name);

// Transforms one row of scores in place. The standard: post_transform of the tree ensembles;
// kProbit is the inverse of the normal distribution after Winitzki.
void TransformScores(PostTransform transform, absl::Span<double> scores);

// Labels of classes: integers or strings.
struct ClassLabels {
  std::vector<int64_t> ints;
  std::vector<std::string> strings;

  size_t size() const { return strings.empty() ? ints.size() : strings.size(); }
  DType dtype() const { return strings.empty() ? DType::kInt64 : DType::kString; }
  // Writes the label of class `index`. An only label stands for class 1, its opposite, 0 or "", for
  // class 0; without labels the index itself is written.
  void Write(int64_t index, const TensorView& labels, int64_t row) const;
};

// Numbers [begin, begin + count) of input 0 as double, of the dtypes that ai.onnx.ml's estimators
// take.
using ReadNumbers = void (*)(const void* data, int64_t begin, int64_t count, double* to);
// Null for another dtype.
ReadNumbers ReaderOfNumbers(DType dtype);

// Writes a double as element i of a float, double or float16 tensor.
void StoreNumber(double value, const TensorView& out, int64_t i);

}  // namespace onward::kernels::cpu
