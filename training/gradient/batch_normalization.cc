// BatchNormalization with the statistics of the batch or given ones.
#include "graph/ops/onward_schemas.h"
#include "onward/status.h"
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

// `value` for every channel.
Expr Filled(const Batch& b, double value) {
  const std::optional<Dims> dims = b.s.input(1).type().static_dims();
  if (!dims) return Expand(b.s.sink().Scalar(value, b.dtype), Shape(b.s.input(1)));
  Tensor tensor(b.dtype, *dims);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    if (b.dtype == DType::kFloat64) {
      tensor.mutable_data<double>()[i] = value;
    } else {
      tensor.mutable_data<float>()[i] = static_cast<float>(value);
    }
  }
  return b.s.sink().Constant(std::move(tensor), "channels");
}

// BatchNormalization itself scales dy and normalises x.
Gradients WithGivenStatistics(const Batch& b) {
  const GradientScope& s = b.s;
  const Expr x = b.Widened(s.input(0)), dy = b.Widened(s.upstream(0)),
             scale = b.Widened(s.input(1)), mean = b.Widened(s.input(3)),
             variance = b.Widened(s.input(4)), zeros = Filled(b, 0);
  const float epsilon = s.attributes().Float("epsilon", 1e-5f);
  const auto normalized = [&](const Expr& what, const Expr& by, const Expr& center) {
    return Op("BatchNormalization", {what, by, zeros, center, variance}, {{"epsilon", epsilon}});
  };
  const Expr dx = normalized(dy, scale, zeros);
  const Expr along = b.Sum(dy * normalized(x, Filled(b, 1), mean));
  const Expr slope = along * scale / ((variance + static_cast<double>(epsilon)) * -2.0);
  return {{Like(dx, s.input(0)), Like(along, s.input(1)), Like(b.Sum(dy), s.input(2)),
           Like(-b.Sum(dx), s.input(3)), Like(slope, s.input(4))}};
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
  const std::vector<Expr> made =
      Ops("BatchNormalizationGradient", {s.input(0), s.input(1), b.Widened(s.upstream(0))}, 3,
          {{"epsilon", s.attributes().Float("epsilon", 1e-5f)}}, kOnwardDomain);
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

constexpr training::GradientEntry kRules[] = {{"BatchNormalization", BatchNormalizationRule}};

}  // namespace

GradientList BatchNormalizationGradients() { return kRules; }

}  // namespace onward::gradient
