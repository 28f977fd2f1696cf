#include "kernels/bind/random.h"

#include "absl/strings/str_cat.h"

namespace onward::kernels {

DType DTypeAttribute(const NodeSpec& spec, DType otherwise) {
  const int64_t dtype = spec.attributes().Int("dtype", static_cast<int64_t>(otherwise));
  return dtype > 0 && dtype < kNumDTypes ? static_cast<DType>(dtype) : DType::kUndefined;
}

absl::StatusOr<RandomFillAttributes> ParseRandomFill(const NodeSpec& spec, bool normal, bool like) {
  const Attributes& attributes = spec.attributes();
  RandomFillAttributes fill;
  fill.dtype = DTypeAttribute(spec, like ? spec.input_dtype(0) : DType::kFloat32);
  fill.like = like;
  fill.shape = attributes.Ints("shape");
  fill.first = attributes.Float(normal ? "mean" : "low", 0.0f);
  fill.second = attributes.Float(normal ? "scale" : "high", 1.0f);
  for (int64_t dim : fill.shape) {
    if (dim < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("shape ", DimsString(fill.shape), " has a negative dim"));
    }
  }
  return fill;
}

}  // namespace onward::kernels
