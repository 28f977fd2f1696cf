// Attention and onward.AttentionGradient by tiles, where cuDNN's kernels refused them.
#include "kernels/cuda/attention_tiled.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "kernels/bind/attention_gradient.h"
#include "kernels/cuda/attention_masks.h"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/stream.h"

namespace onward::kernels::cuda {
namespace {

constexpr int64_t kLargestHead = 128;

// Numbers of the inputs that a node has for masks and counts of keys.
struct RuleInputs {
  int mask, counts;
};
constexpr RuleInputs kOfAttention = {3, 6};
constexpr RuleInputs kOfGradient = {attention_gradient::kMask, attention_gradient::kNonpad};

TiledAttention CallOf(const BindContext& context, const AttentionAttributes& attributes,
                      const AttentionGeometry& g, const RuleInputs& inputs) {
  AttentionCall call;
  call.g = g;
  AttentionMaskInputs given;
  if (context.has_input(inputs.mask)) given.mask_dtype = context.input_dtype(inputs.mask);
  given.has_counts = context.has_input(inputs.counts);
  TiledAttention tiled;
  tiled.rules = ChooseMask(attributes, given, call).rules;
  tiled.g = g;
  tiled.group = g.group();
  tiled.scale = call.scale;
  tiled.softcap = attributes.softcap;
  tiled.dtype = context.input_dtype(0);
  return tiled;
}

void SetAddresses(const RunContext& context, const RuleInputs& inputs, TiledAttention& call) {
  call.q = context.input(0).data;
  call.k = context.input(1).data;
  call.v = context.input(2).data;
  if (context.has_input(inputs.mask)) call.rules.mask = context.input(inputs.mask).data;
  if (context.has_input(inputs.counts)) call.rules.counts = context.in<int64_t>(inputs.counts);
  call.rules.fault = context.services()->device_fault();
}

class AttentionInTiles : public Kernel {
 public:
  explicit AttentionInTiles(const AttentionAttributes& attributes) : attributes_(attributes) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const AttentionGeometry g, BindAttention(attributes_, context));
    *context.NewState<TiledAttention>() = CallOf(context, attributes_, g, kOfAttention);
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    TiledAttention call = context.state<TiledAttention>();
    SetAddresses(context, kOfAttention, call);
    call.y = context.output(0).data;
    return RunTiledAttention(call, StreamOf(context));
  }

 private:
  const AttentionAttributes attributes_;
};

class AttentionGradientInTiles : public Kernel {
 public:
  explicit AttentionGradientInTiles(const AttentionAttributes& attributes)
      : attributes_(attributes) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const AttentionGeometry g, BindAttentionGradient(attributes_, context));
    *context.NewState<TiledGradient>() = PlaceTiledGradient(attributes_, g, context);
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    return RunTiledGradient(context.state<TiledGradient>(), context);
  }

 private:
  const AttentionAttributes attributes_;
};

absl::Status CheckNode(const AttentionAttributes& attributes, const NodeSpec& spec,
                       const RuleInputs& inputs) {
  const DType dtype = spec.input_dtype(0);
  if (dtype != DType::kFloat32 && dtype != DType::kFloat16 && dtype != DType::kBFloat16)
    return absl::UnimplementedError("sums are in float32");
  ONWARD_RETURN_IF_ERROR(CheckAttentionRules(attributes, spec, inputs.mask));
  for (int i = 1; i < 3; ++i) {
    ONWARD_ASSIGN_OR_RETURN(const int64_t size, AttentionHeadSize(spec, i, attributes.kv_heads));
    if (size > kLargestHead)
      return absl::UnimplementedError(
          absl::StrCat("heads of ", size, " elements; tiles have up to ", kLargestHead));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeAttention(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const AttentionAttributes attributes, AttentionAttributes::Parse(spec));
  ONWARD_RETURN_IF_ERROR(CheckNode(attributes, spec, kOfAttention));
  for (const int input : {4, 5})
    if (spec.has_input(input)) return absl::UnimplementedError("no caches");
  for (const int output : {1, 2, 3})
    if (spec.has_output(output)) return absl::UnimplementedError("only the first output");
  return std::make_unique<AttentionInTiles>(attributes);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeGradient(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const AttentionAttributes attributes, AttentionAttributes::Parse(spec));
  ONWARD_RETURN_IF_ERROR(CheckNode(attributes, spec, kOfGradient));
  return std::make_unique<AttentionGradientInTiles>(attributes);
}

constexpr KernelEntry kKernels[] = {
    {"", "Attention", "attention_cuda", MakeAttention},
    {"onward", "AttentionGradient", "attention_gradient_cuda", MakeGradient},
};

}  // namespace

TiledGradient PlaceTiledGradient(const AttentionAttributes& attributes, const AttentionGeometry& g,
                                 BindContext& context) {
  TiledGradient gradient;
  gradient.call = CallOf(context, attributes, g, kOfGradient);
  Scratch scratch;
  const int64_t rows = g.batch * g.q_heads * g.q_len;
  gradient.logs = scratch.Take(rows * static_cast<int64_t>(sizeof(float)));
  gradient.shared = scratch.Take(rows * static_cast<int64_t>(sizeof(float)));
  context.SetScratch(scratch.size());
  return gradient;
}

absl::Status RunTiledGradient(const TiledGradient& gradient, RunContext& context) {
  TiledAttention call = gradient.call;
  SetAddresses(context, kOfGradient, call);
  call.dy = context.input(attention_gradient::kDy).data;
  void** const to[] = {&call.dq, &call.dk, &call.dv};
  for (int i = 0; i < 3; ++i)
    if (context.has_output(i)) *to[i] = context.output(i).data;
  char* scratch = context.scratch<char>();
  call.logs = reinterpret_cast<float*>(scratch + gradient.logs);
  call.shared = reinterpret_cast<float*>(scratch + gradient.shared);
  return RunTiledAttentionGradient(call, StreamOf(context));
}

KernelList TiledAttentionKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
