#include "kernels/cpu/reference/class_scores.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "absl/strings/str_cat.h"

namespace onward::kernels::cpu {
namespace {

// Winitzki's approximation of the inverse error function with a = 0.147, as in the standard's
// reference.
double InverseErf(double x) {
  const double y = (1 - x) * (1 + x);
  if (y == 0) return 0;
  const double log = std::log(y);
  const double v = 2 / (std::numbers::pi * 0.147) + 0.5 * log;
  return std::copysign(std::sqrt(std::sqrt(v * v - log / 0.147) - v), x);
}

// Zero scores stay outside of kSoftmaxZero's exponentials.
void Softmax(bool skip_zeros, absl::Span<double> scores) {
  const double greatest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& score : scores) {
    const bool is_zero = skip_zeros && std::fabs(score) <= 1e-7;
    score = is_zero ? score * std::exp(-greatest) : std::exp(score - greatest);
    sum += score;
  }
  for (double& score : scores) score = sum == 0 ? 0.5 : score / sum;
}

}  // namespace

absl::StatusOr<PostTransform> PostTransformFromName(const std::string& name) {
  constexpr std::pair<std::string_view, PostTransform> kNames[] = {
      {"NONE", PostTransform::kNone},
      {"SOFTMAX", PostTransform::kSoftmax},
      {"LOGISTIC", PostTransform::kLogistic},
      {"SOFTMAX_ZERO", PostTransform::kSoftmaxZero},
      {"PROBIT", PostTransform::kProbit}};
  for (const auto& [known, transform] : kNames) {
    if (name == known) return transform;
  }
  return absl::InvalidArgumentError(absl::StrCat("post_transform is '", name, "'"));
}

void TransformScores(PostTransform transform, absl::Span<double> scores) {
  if (scores.empty()) return;
  switch (transform) {
    case PostTransform::kNone:
      return;
    case PostTransform::kSoftmax:
      return Softmax(false, scores);
    case PostTransform::kSoftmaxZero:
      return Softmax(true, scores);
    case PostTransform::kLogistic:
      for (double& score : scores) score = 1 / (1 + std::exp(-score));
      return;
    case PostTransform::kProbit:
      for (double& score : scores) score = std::numbers::sqrt2 * InverseErf(2 * score - 1);
      return;
  }
}

void ClassLabels::Write(int64_t index, const TensorView& labels, int64_t row) const {
  if (!strings.empty()) {
    labels.as<std::string>()[row] = strings.size() > 1 ? strings[static_cast<size_t>(index)]
                                    : index == 1       ? strings[0]
                                                       : std::string();
  } else {
    labels.as<int64_t>()[row] = ints.size() > 1    ? ints[static_cast<size_t>(index)]
                                : ints.size() == 1 ? (index == 1 ? ints[0] : 0)
                                                   : index;
  }
}

ReadNumbers ReaderOfNumbers(DType dtype) {
  ReadNumbers read = nullptr;
  DispatchDType(TypeList<float, double, int32_t, int64_t, Float16>(), dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    read = [](const void* data, int64_t begin, int64_t count, double* to) {
      const T* from = static_cast<const T*>(data) + begin;
      for (int64_t i = 0; i < count; ++i) to[i] = static_cast<double>(from[i]);
    };
  });
  return read;
}

void StoreNumber(double value, const TensorView& out, int64_t i) {
  DispatchDType(TypeList<float, double, Float16>(), out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    out.as<T>()[i] = static_cast<T>(value);
  });
}

}  // namespace onward::kernels::cpu
