// Attention of 16-bit floats through cuDNN, in one kernel that keeps no scores in memory. What that
// does not do is refused, and runs in the parts of the standard's function body.
#include "kernels/cuda/attention_graph.h"
#include "kernels/cuda/attention_masks.h"
#include "kernels/cuda/cudnn_plan.h"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/stream.h"

namespace onward::kernels::cuda {
namespace {

// Caches that grow have a plan for each this many positions, not for each one.
constexpr int64_t kGrowth = 64;

enum Input { kQ, kK, kV, kMask, kPastKey, kPastValue, kCounts };

// Where the parts of the scratch begin, in bytes.
struct AttentionState {
  AttentionGeometry g;
  AttentionCall call;
  AttentionMasks masks;
  const CudnnPlan* plan = nullptr;
  bool pads_keys = false, pads_values = false;  // keys or values lie in the scratch
  int64_t keys = 0, values = 0, workspace = 0;
};

class Attention : public Kernel {
 public:
  // `grows`: keys may be more in each run.
  Attention(const AttentionAttributes& attributes, DType dtype, bool grows)
      : attributes_(attributes), dtype_(dtype), grows_(grows) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const AttentionGeometry g, BindAttention(attributes_, context));
    auto* s = context.NewState<AttentionState>();
    s->g = s->call.g = g;
    if (g.batch * g.q_heads * g.q_len * g.v_head_size == 0 || g.total_len() == 0)
      return absl::OkStatus();
    s->call.dtype = dtype_;
    AttentionMaskInputs inputs;
    if (context.has_input(kMask)) inputs.mask_dtype = context.input_dtype(kMask);
    inputs.has_counts = context.has_input(kCounts);
    inputs.grows = grows_;
    s->masks = ChooseMask(attributes_, inputs, s->call);
    Scratch scratch;
    PlaceKeys(context, *s, scratch);
    PlaceMask(s->call, s->masks, scratch);
    ONWARD_ASSIGN_OR_RETURN(s->plan, PlanGraph(AttentionGraph(s->call), PlanDemands()));
    s->workspace = scratch.Take(s->plan->workspace());
    context.SetScratch(scratch.size());
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const auto& s = context.state<AttentionState>();
    cudaStream_t stream = StreamOf(context);
    const TensorView& y = context.output(0);
    const void *keys = context.input(kK).data, *values = context.input(kV).data;
    ONWARD_RETURN_IF_ERROR(AppendAll(context, s, stream, &keys, &values));
    if (y.num_elements() == 0) return absl::OkStatus();
    if (s.plan == nullptr)
      return ToStatus(cudaMemsetAsync(y.data, 0, static_cast<size_t>(y.byte_size()), stream));
    AttentionMasks masks = s.masks;
    if (context.has_input(kMask)) masks.rules.mask = context.input(kMask).data;
    if (context.has_input(kCounts)) masks.rules.counts = context.in<int64_t>(kCounts);
    masks.rules.fault = context.services()->device_fault();
    char* scratch = context.scratch<char>();
    std::vector<const void*> memory = {context.input(kQ).data, keys, values};
    ONWARD_RETURN_IF_ERROR(WriteMask(s.call, masks, scratch, stream, &memory));
    memory.push_back(y.data);
    ONWARD_RETURN_IF_ERROR(CheckAligned(memory));
    ONWARD_RETURN_IF_ERROR(s.plan->Run(memory, scratch + s.workspace, stream));
    return ZeroHidden(s.call, masks, scratch, y.data, stream);
  }

 private:
  // Says where cuDNN reads keys and values: the inputs, present outputs, or scratch.
  void PlaceKeys(const BindContext& context, AttentionState& s, Scratch& scratch) const {
    AttentionGeometry& g = s.call.g;
    const bool has_past = context.has_input(kPastKey);
    int64_t capacity = g.total_len();
    if (grows_ && s.call.mask == AttentionMask::kLengths && !context.has_input(kCounts))
      capacity = (capacity + kGrowth - 1) / kGrowth * kGrowth;
    const bool pads = capacity != g.total_len();
    if (!has_past && !pads) return;
    s.pads_keys = pads || !context.has_output(1);
    s.pads_values = pads || !context.has_output(2);
    g.past_len = 0;
    g.new_len = capacity;
    g.k_row = g.head_size, g.k_head = capacity * g.k_row, g.k_batch = g.kv_heads * g.k_head;
    g.v_row = g.v_head_size, g.v_head = capacity * g.v_row, g.v_batch = g.kv_heads * g.v_head;
    if (s.pads_keys) s.keys = scratch.Take(2 * g.batch * g.k_batch);
    if (s.pads_values) s.values = scratch.Take(2 * g.batch * g.v_batch);
  }

  // Writes caches, and says where keys and values are now.
  static absl::Status AppendAll(const RunContext& context, const AttentionState& s,
                                cudaStream_t stream, const void** keys, const void** values) {
    const AttentionGeometry& g = s.g;
    AppendedHeads k = {nullptr,   *keys,         nullptr,     g.batch,   g.kv_heads, g.past_len,
                       g.new_len, g.total_len(), g.head_size, g.k_batch, g.k_head,   g.k_row};
    AppendedHeads v = {nullptr,   *values,       nullptr,       g.batch,   g.kv_heads, g.past_len,
                       g.new_len, g.total_len(), g.v_head_size, g.v_batch, g.v_head,   g.v_row};
    if (context.has_input(kPastKey)) k.past = context.input(kPastKey).data;
    if (context.has_input(kPastValue)) v.past = context.input(kPastValue).data;
    AppendedHeads* parts[] = {&k, &v};
    const void** places[] = {keys, values};
    for (int i = 0; i < 2; ++i) {
      if (!context.has_output(1 + i)) continue;
      parts[i]->to = context.output(1 + i).data;
      ONWARD_RETURN_IF_ERROR(AppendHeads(*parts[i], stream));
      if (context.has_input(kPastKey)) *places[i] = parts[i]->to;
    }
    const bool pads[] = {s.pads_keys, s.pads_values};
    const int64_t offsets[] = {s.keys, s.values};
    for (int i = 0; i < 2; ++i) {
      if (!pads[i]) continue;
      parts[i]->to = context.scratch<char>() + offsets[i];
      parts[i]->capacity = s.call.g.total_len();
      ONWARD_RETURN_IF_ERROR(AppendHeads(*parts[i], stream));
      *places[i] = parts[i]->to;
    }
    return absl::OkStatus();
  }

  const AttentionAttributes attributes_;
  const DType dtype_;
  const bool grows_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeAttention(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const AttentionAttributes attributes, AttentionAttributes::Parse(spec));
  ONWARD_RETURN_IF_ERROR(CheckCudnnAttention(attributes, spec, kMask));
  for (const int input : {kPastKey, kPastValue})
    if (spec.has_input(input) && spec.input_dtype(input) != spec.input_dtype(kQ))
      return absl::UnimplementedError("only caches in the type of K and V");
  if (spec.has_output(3)) return absl::UnimplementedError("no qk_matmul_output");
  const SymbolicDims& k = *spec.input_type(kK).shape;
  const bool grows = spec.has_input(kPastKey) || !k[k.size() - 2].known();
  return std::make_unique<Attention>(attributes, spec.input_dtype(kQ), grows);
}

constexpr KernelEntry kKernels[] = {{"", "Attention", "attention_cudnn", MakeAttention}};

}  // namespace

KernelList AttentionKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
