// onward.MuonStep (graph/optimizers/muon.cc) in place: a pass for the momentum, Newton-Schulz
// iterations in scratch memory, a pass over the parameter.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "kernels/bind/optimizer_steps.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/muon_product.h"
#include "kernels/cpu/optimizer_steps.h"
#include "kernels/cpu/simd/scaled_steps.h"
#include "onward/shape.h"

namespace onward::kernels::cpu {
namespace {

constexpr int kIterations = 5;
constexpr double kA = 3.4445, kB = -4.7750, kC = 2.0315;  // of a x + b x^3 + c x^5

// Of X (rows x columns) with the shorter side s, the three products of an iteration:
//   gram = X X^T, or X^T X of a tall X (s x s)
//   mix = gram gram, which then becomes a + b gram + c mix (s x s)
//   next X = mix X, or X mix
struct MuonPlan {
  int64_t rows = 0, columns = 0, side = 0;
  MuonProduct gram, mix, next;
  int64_t blocks = 0;
  int64_t products = 0;  // elements of scratch

  bool tall() const { return rows > columns; }
  int64_t count() const { return rows * columns; }
  int64_t sums() const { return blocks; }  // doubles
  int64_t elements() const { return 2 * count() + 2 * side * side + products; }
};

template <typename T>
class MuonStep : public Kernel {
 public:
  MuonStep(const ScaledStepLoops<T>& loops, const GemmTileKernels& tiles, bool nesterov,
           bool maximize)
      : loops_(loops), tiles_(tiles), nesterov_(nesterov), maximize_(maximize) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_RETURN_IF_ERROR(BindStep(context, 1, MuonSettings::kCount));
    const DimsView dims = context.input_dims(0);
    if (dims.size() != 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("Muon takes only matrices, but the parameter has shape ", DimsString(dims)));
    }
    auto* plan = context.NewState<MuonPlan>();
    plan->rows = dims[0];
    plan->columns = dims[1];
    const int64_t s = plan->side = std::min(dims[0], dims[1]), l = std::max(dims[0], dims[1]);
    const bool tall = plan->tall();
    plan->gram = {
        .m = s, .n = s, .k = l, .a_transposed = tall, .b_transposed = !tall, .symmetric = true};
    plan->mix = {.m = s, .n = s, .k = s, .symmetric = true};
    plan->next = {.m = dims[0], .n = dims[1], .k = s};
    plan->blocks = CeilDiv(plan->count(), kStepGrain);
    if (std::is_same_v<T, float>) {
      for (MuonProduct* each : {&plan->gram, &plan->mix, &plan->next})
        plan->products = std::max(plan->products, each->Plan(tiles_, context.num_workers()));
    }
    context.SetScratch(plan->sums() * static_cast<int64_t>(sizeof(double)) +
                       plan->elements() * static_cast<int64_t>(sizeof(T)));
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const auto& plan = context.state<MuonPlan>();
    if (plan.count() == 0) return absl::OkStatus();
    const double* settings = context.in<double>(2);
    auto* sums = context.scratch<double>();
    T* x = reinterpret_cast<T*>(sums + plan.sums());
    ForBlocks(context, plan, [&](int64_t block, int64_t at, int64_t count) {
      sums[block] = loops_.muon_direction(
          static_cast<T>(1 - settings[MuonSettings::kMomentum]),
          static_cast<T>(settings[MuonSettings::kMomentum]), nesterov_, maximize_ ? T(-1) : T(1),
          context.in<T>(1) + at, context.in<T>(4) + at, context.out<T>(1) + at, x + at, count);
    });
    double squares = 0;
    for (int64_t i = 0; i < plan.blocks; ++i) squares += sums[i];
    // NaN stays NaN.
    const T size = static_cast<T>(std::max(std::sqrt(squares), settings[MuonSettings::kEps]));
    ForBlocks(context, plan,
              [&](int64_t, int64_t at, int64_t count) { loops_.divide(x + at, size, count); });
    x = Orthogonal(context, plan, x);
    const double shape = static_cast<double>(plan.rows) / static_cast<double>(plan.columns);
    const T rate = static_cast<T>(settings[MuonSettings::kLr] * std::sqrt(std::max(1.0, shape)));
    const T shrink =
        static_cast<T>(1 - settings[MuonSettings::kLr] * settings[MuonSettings::kWeightDecay]);
    ForBlocks(context, plan, [&](int64_t, int64_t at, int64_t count) {
      loops_.muon_apply(context.in<T>(0) + at, x + at, shrink, rate, context.out<T>(0) + at, count);
    });
    return absl::OkStatus();
  }

 private:
  template <typename Body>
  static void ForBlocks(const RunContext& context, const MuonPlan& plan, const Body& body) {
    context.ParallelFor(plan.blocks, 1, [&](int64_t block, int64_t end) {
      for (; block < end; ++block) {
        const int64_t at = block * kStepGrain;
        body(block, at, std::min(kStepGrain, plan.count() - at));
      }
    });
  }

  static void Mix(const RunContext& context, int64_t side, const T* gram, T* mix) {
    constexpr T b = static_cast<T>(kB), c = static_cast<T>(kC);
    const int64_t count = side * side;
    context.ParallelFor(count, 2 * kStepGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) mix[i] = b * gram[i] + c * mix[i];
    });
    for (int64_t d = 0; d < count; d += side + 1) mix[d] += static_cast<T>(kA);
  }

  // The iterations; memory for a second matrix and the products is behind x.
  static T* Orthogonal(const RunContext& context, const MuonPlan& plan, T* x) {
    T *other = x + plan.count(), *gram = other + plan.count();
    T *mix = gram + plan.side * plan.side, *scratch = mix + plan.side * plan.side;
    for (int i = 0; i < kIterations; ++i) {
      plan.gram.Run(context, x, x, gram, scratch);
      plan.mix.Run(context, gram, gram, mix, scratch);
      Mix(context, plan.side, gram, mix);
      if (plan.tall()) {
        plan.next.Run(context, x, mix, other, scratch);
      } else {
        plan.next.Run(context, mix, x, other, scratch);
      }
      std::swap(x, other);
    }
    return x;
  }

  const ScaledStepLoops<T>& loops_;
  const GemmTileKernels& tiles_;
  bool nesterov_, maximize_;
};

// The targets of bfloat16 round the operands of products.
absl::StatusOr<std::unique_ptr<Kernel>> MakeMuon(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckStep(spec, 1));
  ONWARD_ASSIGN_OR_RETURN(const GemmTileKernels* tiles, FasterTilesOf(spec));
  const bool nesterov = spec.attributes().Int("nesterov", 1) != 0;
  const bool maximize = spec.attributes().Int("maximize", 0) != 0;
  if (spec.input_dtype(0) == DType::kFloat32) {
    return std::make_unique<MuonStep<float>>(kFloatStepsPerTarget.For(TargetOf(spec))(), *tiles,
                                             nesterov, maximize);
  }
  if (tiles->k_per_word > 1) return absl::UnimplementedError("products of bfloat16 are of float32");
  return std::make_unique<MuonStep<double>>(kDoubleStepsPerTarget.For(TargetOf(spec))(), *tiles,
                                            nesterov, maximize);
}

constexpr KernelEntry kKernels[] = {
    {"onward", "MuonStep", "muon_step_bf16", MakeMuon, kBf16Targets},
    {"onward", "MuonStep", "muon_step", MakeMuon, kVectorTargets},
};

}  // namespace

KernelList MuonKernels() { return kKernels; }

}  // namespace onward::kernels::cpu
