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

// Labels from i on whose scores lie side by side, at most kSoftmaxColumns.
int64_t Columns(const LossPlan& plan, int64_t i, int64_t end) {
  return std::min({kSoftmaxColumns, plan.positions - i % plan.positions, end - i});
}

template <Target kTarget>
void SoftmaxOf(const LossPlan& plan, const float* x, int64_t columns, bool log, float* y) {
  if (plan.positions == 1) return Loops<kTarget>().softmax(x, plan.classes, log, y);
  Loops<kTarget>().softmax_columns(x, plan.classes, plan.positions, columns, log, y);
}

template <Target kTarget>
int64_t RunLosses(const LossPlan& plan, const LossData& data, int64_t begin, int64_t end) {
  const auto* weights = static_cast<const float*>(data.weights);
  int64_t bad = -1;
  for (int64_t i = begin; i < end;) {
    const int64_t first = plan.FirstScore(i), columns = Columns(plan, i, end);
    const float* x = static_cast<const float*>(data.scores) + first;
    float top[kSoftmaxColumns] = {}, log_sum[kSoftmaxColumns] = {};
    if (data.log_prob != nullptr) {
      float* log_prob = static_cast<float*>(data.log_prob) + first;
      SoftmaxOf<kTarget>(plan, x, columns, true, log_prob);
      x = log_prob;
    } else if (plan.positions == 1) {
      Loops<kTarget>().log_sum_exp(x, plan.classes, top, log_sum);
    } else {
      Loops<kTarget>().log_sum_exp_columns(x, plan.classes, plan.positions, columns, top, log_sum);
    }
    for (int64_t j = 0; j < columns; ++j) {
      const bool good = StoreLabelLoss(
          plan, data, i + j,
          [&](int64_t c) {
            return static_cast<double>(x[c * plan.positions + j] - top[j] - log_sum[j]);
          },
          [&](int64_t c) { return static_cast<double>(weights[c]); });
      if (!good && bad < 0) bad = i + j;
    }
    i += columns;
  }
  return bad;
}

template <Target kTarget>
void Scale(const LossPlan& plan, const float* factors, int64_t columns, float* x) {
  if (plan.positions == 1) return Loops<kTarget>().affine(x, plan.classes, *factors, 0, x);
  for (int64_t c = 0; c < plan.classes; ++c)
    for (int64_t j = 0; j < columns; ++j) x[c * plan.positions + j] *= factors[j];
}

template <Target kTarget>
int64_t RunGradients(const LossPlan& plan, const LossGradientData& data, int64_t begin,
                     int64_t end) {
  for (int64_t i = begin; i < end;) {
    const int64_t first = plan.FirstScore(i), columns = Columns(plan, i, end);
    const float* dy = static_cast<const float*>(data.dy) + i;
    float* dx = static_cast<float*>(data.dx) + first;
    SoftmaxOf<kTarget>(plan, static_cast<const float*>(data.scores) + first, columns, false, dx);
    Scale<kTarget>(plan, dy, columns, dx);
    for (int64_t j = 0; j < columns; ++j) {
      const int64_t label = ReadLabel(data.labels, i + j);
      if (label < 0 || label >= plan.classes) return i + j;
      dx[label * plan.positions + j] -= dy[j];
    }
    i += columns;
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
