// SoftmaxCrossEntropyLoss and its gradient of float32, on the vectors of one instruction set. No
// probability goes to memory but where the gradient's element goes.
#include <algorithm>
#include <string>

#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/loss_plan.h"
#include "kernels/cpu/simd/row_loops.h"

namespace onward::kernels::cpu {
namespace {

template <Target kTarget>
const RowLoops& Loops() {
  return kRowsPerTarget.For(kTarget)();
}

// Labels from i on that are computed together, at most kSoftmaxColumns: their scores are rows, or
// lie side by side as columns.
int64_t LabelsFrom(const LossPlan& plan, int64_t i, int64_t end) {
  const int64_t most = plan.positions == 1 ? kSoftmaxColumns : plan.positions - i % plan.positions;
  return std::min({kSoftmaxColumns, most, end - i});
}

// Where label j of those has the score of class c.
int64_t PlaceOf(const LossPlan& plan, int64_t c, int64_t j) {
  return plan.positions == 1 ? j * plan.classes + c : c * plan.positions + j;
}

template <Target kTarget>
void SoftmaxOf(const LossPlan& plan, const float* x, int64_t labels, bool log, float* y) {
  if (plan.positions == 1) return Loops<kTarget>().softmax(x, labels, plan.classes, log, y);
  Loops<kTarget>().softmax_columns(x, plan.classes, plan.positions, labels, log, y);
}

template <Target kTarget>
int64_t RunLosses(const LossPlan& plan, const LossData& data, int64_t begin, int64_t end) {
  const auto* weights = static_cast<const float*>(data.weights);
  int64_t bad = -1;
  for (int64_t i = begin; i < end;) {
    const int64_t first = plan.FirstScore(i), labels = LabelsFrom(plan, i, end);
    const float* x = static_cast<const float*>(data.scores) + first;
    float top[kSoftmaxColumns] = {}, log_sum[kSoftmaxColumns] = {};
    if (data.log_prob != nullptr) {
      float* log_prob = static_cast<float*>(data.log_prob) + first;
      SoftmaxOf<kTarget>(plan, x, labels, true, log_prob);
      x = log_prob;
    } else if (plan.positions == 1) {
      Loops<kTarget>().log_sum_exp(x, labels, plan.classes, top, log_sum);
    } else {
      Loops<kTarget>().log_sum_exp_columns(x, plan.classes, plan.positions, labels, top, log_sum);
    }
    for (int64_t j = 0; j < labels; ++j) {
      const bool good = StoreLabelLoss(
          plan, data, i + j,
          [&](int64_t c) {
            return static_cast<double>(x[PlaceOf(plan, c, j)] - top[j] - log_sum[j]);
          },
          [&](int64_t c) { return static_cast<double>(weights[c]); });
      if (!good && bad < 0) bad = i + j;
    }
    i += labels;
  }
  return bad;
}

template <Target kTarget>
void Scale(const LossPlan& plan, const float* factors, int64_t labels, float* x) {
  if (plan.positions == 1) {
    for (int64_t j = 0; j < labels; ++j, x += plan.classes)
      Loops<kTarget>().affine(x, plan.classes, factors[j], 0, x);
    return;
  }
  for (int64_t c = 0; c < plan.classes; ++c)
    for (int64_t j = 0; j < labels; ++j) x[c * plan.positions + j] *= factors[j];
}

template <Target kTarget>
int64_t RunGradients(const LossPlan& plan, const LossGradientData& data, int64_t begin,
                     int64_t end) {
  for (int64_t i = begin; i < end;) {
    const int64_t first = plan.FirstScore(i), labels = LabelsFrom(plan, i, end);
    const float* dy = static_cast<const float*>(data.dy) + i;
    float* dx = static_cast<float*>(data.dx) + first;
    SoftmaxOf<kTarget>(plan, static_cast<const float*>(data.scores) + first, labels, false, dx);
    Scale<kTarget>(plan, dy, labels, dx);
    for (int64_t j = 0; j < labels; ++j) {
      const int64_t label = ReadLabel(data.labels, i + j);
      if (label < 0 || label >= plan.classes) return i + j;
      dx[PlaceOf(plan, label, j)] -= dy[j];
    }
    i += labels;
  }
  return -1;
}

constexpr auto kTargets = std::make_integer_sequence<int, kNumTargets>();
template <int... I>
LossLoop LossesFor(Target target, std::integer_sequence<int, I...>) {
  constexpr LossLoop kLoops[] = {RunLosses<static_cast<Target>(I)>...};
  return kLoops[static_cast<int>(target)];
}
template <int... I>
LossGradientLoop GradientsFor(Target target, std::integer_sequence<int, I...>) {
  constexpr LossGradientLoop kLoops[] = {RunGradients<static_cast<Target>(I)>...};
  return kLoops[static_cast<int>(target)];
}

absl::Status CheckScores(const NodeSpec& spec) {
  if (spec.input_dtype(0) == DType::kFloat32) return absl::OkStatus();
  return absl::UnimplementedError("float32 scores only");
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeLoss(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckScores(spec));
  return MakeLossKernel(spec, LossesFor(TargetOf(spec), kTargets));
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeGradient(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckScores(spec));
  if (spec.input_dtype(2) != DType::kFloat32)
    return absl::UnimplementedError("float32 gradients of losses only");
  return MakeLossGradientKernel(GradientsFor(TargetOf(spec), kTargets));
}

constexpr KernelEntry kKernels[] = {
    {"", "SoftmaxCrossEntropyLoss", "softmax_cross_entropy_loss", MakeLoss, kVectorTargets},
    {"onward", "SoftmaxCrossEntropyLossGradient", "softmax_cross_entropy_loss_gradient",
     MakeGradient, kVectorTargets},
};

}  // namespace

KernelList LossKernels() { return kKernels; }

}  // namespace onward::kernels::cpu
