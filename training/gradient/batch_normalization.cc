// BatchNormalization with the statistics of the batch or given ones.
#include "graph/base/status.h"
#include "graph/ops/onward_schemas.h"
#include "training/gradient/families.h"
#include "training/gradient/parts.h"

namespace onward::gradient {
namespace {

using namespace expr;  // NOLINT: rules read as formulas

// All in the widest of the operands' dtypes; [C] operands as [C, 1, ...].
struct Batch {
  const GradientScope& s;
  DType dtype;
  int64_t rank;
  std::vector<int64_t> others = {0};  // the axes but that of the channels

  Batch(const GradientScope& scope, int64_t input_rank) : s(scope), rank(input_rank) {
    const bool wide =
        s.input(0).dtype() == DType::kFloat64 || s.input(3).dtype() == DType::kFloat64;
    dtype = wide ? DType::kFloat64 : DType::kFloat32;
    for (int64_t i = 2; i < rank; ++i) others.push_back(i);
  }
  Expr Widened(const Expr& x) const { return x.dtype() == dtype ? x : Cast(x, dtype); }
  Expr Channels(int input) const { return AsChannels(s.input(input)); }
  Expr AsChannels(const Expr& c) const {
    std::vector<int64_t> shape(static_cast<size_t>(rank - 1), 1);
    shape[0] = -1;
    return Reshape(Widened(c), shape);
  }
  Expr Sum(const Expr& x) const { return ReduceSum(x, others, false); }
  // As operand `input` is.
  Expr Like(const Expr& gradient, int input) const {
    const DType wanted = s.input(input).dtype();
    const Expr shaped = input == 0 ? gradient : Reshape(gradient, {-1});
    return wanted == dtype ? shaped : Cast(shaped, wanted);
  }
};

// `value` for every channel; their number is known.
Expr Filled(const GradientScope& s, double value) {
  Tensor tensor(s.input(1).dtype(), *s.input(1).type().static_dims());
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    if (tensor.dtype() == DType::kFloat64) {
      tensor.mutable_data<double>()[i] = value;
    } else {
      tensor.mutable_data<float>()[i] = static_cast<float>(value);
    }
  }
  return s.sink().Constant(std::move(tensor), "channels");
}

// Whether all operands have one dtype, and the channels are counted.
bool IsPlain(const Batch& b) {
  for (int i = 0; i < 5; ++i)
    if (b.s.input(i).dtype() != b.dtype) return false;
  const Type& scale = b.s.input(1).type();
  return scale.shape && scale.shape->size() == 1 && (*scale.shape)[0].known();
}

// By BatchNormalization itself: it scales dy, and what is centered.
Gradients ByItself(const Batch& b) {
  const GradientScope& s = b.s;
  const Expr x = s.input(0), scale = s.input(1), variance = s.input(4), dy = s.upstream(0);
  const float epsilon = s.attributes().Float("epsilon", 1e-5f);
  const Expr zeros = Filled(s, 0);
  const auto scaled = [&](const Expr& what, const Expr& by) {
    return Op("BatchNormalization", {what, by, zeros, zeros, variance}, {{"epsilon", epsilon}});
  };
  std::vector<Expr> gradients = NoGradients(s);
  if (s.wants(0) || s.wants(3)) gradients[0] = scaled(dy, scale);
  if (s.wants(1) || s.wants(4)) gradients[1] = b.Sum(dy * scaled(x - b.Channels(3), Filled(s, 1)));
  if (s.wants(2)) gradients[2] = b.Sum(dy);
  if (s.wants(3)) gradients[3] = -b.Sum(gradients[0]);
  if (s.wants(4))
    gradients[4] = gradients[1] * scale / ((variance + static_cast<double>(epsilon)) * -2.0);
  return gradients;
}

Gradients WithGivenStatistics(const Batch& b) {
  if (IsPlain(b)) return ByItself(b);
  const GradientScope& s = b.s;
  const Expr x = b.Widened(s.input(0)), dy = b.Widened(s.upstream(0)), scale = b.Channels(1);
  const double epsilon = s.attributes().Float("epsilon", 1e-5f);
  const Expr inverse = Reciprocal(Sqrt(b.Channels(4) + epsilon));
  const Expr centered = x - b.Channels(3);
  const Expr along = b.AsChannels(b.Sum(dy * centered));
  const Expr flat = b.AsChannels(b.Sum(dy));
  return {{b.Like(dy * (scale * inverse), 0), b.Like(along * inverse, 1), b.Like(flat, 2),
           b.Like(-(flat * scale * inverse), 3),
           b.Like(along * scale * inverse * inverse * inverse * -0.5, 4)}};
}

// The running statistics that come out are momentum * given + (1 - momentum) * of the batch.
Gradients WithOwnStatistics(const Batch& b) {
  const GradientScope& s = b.s;
  const Expr x = b.Widened(s.input(0)), scale = b.Channels(1);
  const double epsilon = s.attributes().Float("epsilon", 1e-5f),
               momentum = s.attributes().Float("momentum", 0.9f);
  const Expr centered = x - ReduceMean(x, b.others);
  std::vector<Expr> gradients = NoGradients(s);
  Expr dx;
  const auto add = [&](const Expr& part) { dx = dx.valid() ? dx + part : part; };
  if (s.upstream(0).valid()) {
    const Expr dy = b.Widened(s.upstream(0));
    const Expr inverse = Reciprocal(Sqrt(ReduceMean(centered * centered, b.others) + epsilon));
    const Expr normal = centered * inverse, product = dy * normal;
    const Expr along = normal * ReduceMean(product, b.others);
    add((dy - ReduceMean(dy, b.others) - along) * (scale * inverse));
    gradients[1] = b.Like(b.Sum(product), 1);
    gradients[2] = b.Like(b.Sum(dy), 2);
  }
  const Expr count = Cast(Size(x) / Size(scale), b.dtype);
  const Expr part = ScalarLike(count, 1 - momentum) / count;
  for (int i = 1; i < 3 && i < static_cast<int>(s.node().outputs.size()); ++i) {
    if (!s.upstream(i).valid()) continue;
    const Expr moved = b.AsChannels(s.upstream(i));
    gradients[static_cast<size_t>(2 + i)] = b.Like(moved * momentum, 2 + i);
    add(i == 1 ? Expand(moved * part, Shape(x)) : centered * (moved * part * 2.0));
  }
  gradients[0] = b.Like(dx, 0);
  return gradients;
}

// The fused op knows one dtype of two, and nothing that flows back into the running statistics.
bool TakesFused(const GradientScope& s, DType dtype) {
  return s.allow_onward_ops() && s.attributes().Int("training_mode", 0) != 0 &&
         s.input(1).dtype() == dtype && s.input(2).dtype() == dtype && s.upstream(0).valid() &&
         !s.upstream(1).valid() && !s.upstream(2).valid();
}

Gradients Fused(const Batch& b) {
  const GradientScope& s = b.s;
  const std::vector<Expr> made = Ops(
      "BatchNormalizationGradient", {b.Widened(s.input(0)), s.input(1), b.Widened(s.upstream(0))},
      3, {{"epsilon", s.attributes().Float("epsilon", 1e-5f)}}, kOnwardDomain);
  std::vector<Expr> gradients = NoGradients(s);
  for (size_t i = 0; i < 3; ++i) gradients[i] = made[i];
  gradients[0] = b.Like(made[0], 0);
  return gradients;
}

Gradients BatchNormalizationRule(const GradientScope& s) {
  ONWARD_ASSIGN_OR_RETURN(const int64_t rank, RankOf(s.input(0)));
  if (rank < 2) return absl::UnimplementedError("an input without channels has no gradient");
  const Batch batch(s, rank);
  if (TakesFused(s, batch.dtype)) return Fused(batch);
  const bool training = s.attributes().Int("training_mode", 0) != 0;
  return training ? WithOwnStatistics(batch) : WithGivenStatistics(batch);
}

constexpr GradientEntry kRules[] = {{"BatchNormalization", BatchNormalizationRule}};

}  // namespace

GradientList BatchNormalizationGradients() { return kRules; }

}  // namespace onward::gradient
