// Attention of 16-bit floats through cuDNN, in one kernel that keeps no scores in memory. What that
// does not do is refused, and runs in the parts of the standard's function body.
#include <cmath>

#include "kernels/cuda/attention_graph.h"
#include "kernels/cuda/attention_parts.h"
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
  AttentionRules rules;
  const CudnnPlan* plan = nullptr;
  bool pads_keys = false, pads_values = false;  // keys or values lie in the scratch
  int64_t bias = 0, hidden = 0, queries = 0, counts = 0, keys = 0, values = 0, workspace = 0;
};

class Scratch {
 public:
  // Returns where `bytes` more begin.
  int64_t Take(int64_t bytes) {
    const int64_t begin = size_;
    size_ += (bytes + 255) / 256 * 256;
    return begin;
  }
  int64_t size() const { return size_; }

 private:
  int64_t size_ = 0;
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
    s->call.scale = attributes_.scale.value_or(1.0f / std::sqrt(static_cast<float>(g.head_size)));
    SetMask(context, *s);
    Scratch scratch;
    PlaceKeys(context, *s, scratch);
    PlaceMasks(*s, scratch);
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
    AttentionRules rules = s.rules;
    if (context.has_input(kMask)) rules.mask = context.input(kMask).data;
    if (context.has_input(kCounts)) rules.counts = context.in<int64_t>(kCounts);
    rules.fault = context.services()->device_fault();
    char* scratch = context.scratch<char>();
    const auto hidden = reinterpret_cast<bool*>(scratch + s.hidden);
    std::vector<const void*> memory = {context.input(kQ).data, keys, values};
    if (s.call.mask == AttentionMask::kBias) {
      ONWARD_RETURN_IF_ERROR(
          WriteAttentionBias(rules, dtype_, s.call.bias_row, scratch + s.bias, hidden, stream));
      memory.push_back(scratch + s.bias);
    } else if (s.call.mask == AttentionMask::kLengths) {
      const auto queries = reinterpret_cast<int32_t*>(scratch + s.queries);
      const auto counts = reinterpret_cast<int32_t*>(scratch + s.counts);
      ONWARD_RETURN_IF_ERROR(
          WriteAttentionCounts(rules, s.g.batch, queries, counts, hidden, stream));
      memory.insert(memory.end(), {queries, counts});
    }
    memory.push_back(y.data);
    ONWARD_RETURN_IF_ERROR(CheckAligned(memory));
    ONWARD_RETURN_IF_ERROR(s.plan->Run(memory, scratch + s.workspace, stream));
    if (s.call.mask == AttentionMask::kBias)
      return ZeroHiddenRows(s.g, rules, s.g.q_len, hidden, y.data, stream);
    return s.call.mask == AttentionMask::kLengths && rules.counts != nullptr
               ? ZeroHiddenRows(s.g, rules, 1, hidden, y.data, stream)
               : absl::OkStatus();
  }

 private:
  // Chooses how cuDNN learns which keys count; what it has no form for is a bias.
  void SetMask(const BindContext& context, AttentionState& s) const {
    const AttentionGeometry& g = s.g;
    AttentionRules& r = s.rules;
    const bool has_mask = context.has_input(kMask), has_counts = context.has_input(kCounts);
    if (has_mask) r.mask_dtype = context.input_dtype(kMask);
    r.causal = attributes_.causal;
    r.left = attributes_.left_window, r.right = attributes_.right_window;
    r.q_len = g.q_len, r.past_len = g.past_len, r.keys = g.total_len();
    r.mask_batch = g.mask_batch, r.mask_head = g.mask_head, r.mask_row = g.mask_row;
    r.mask_len = g.mask_len;
    r.batch = g.mask_batch != 0 || has_counts ? g.batch : 1;
    r.heads = g.mask_head != 0 ? g.q_heads : 1;
    const bool windows = r.left >= 0 || r.right >= 0;
    const bool last_sees_all =
        r.causal && !windows && g.q_len == 1 && (has_counts || (g.past_len > 0 && g.new_len == 1));
    if (has_mask) {
      s.call.mask = AttentionMask::kBias;
    } else if ((!r.causal && !windows && has_counts) || last_sees_all) {
      s.call.mask = AttentionMask::kLengths;
    } else if (!r.causal && !windows) {
      s.call.mask = grows_ && g.q_len == 1 ? AttentionMask::kLengths : AttentionMask::kNone;
    } else if (has_counts || !r.causal || r.right >= 0 || g.q_len > g.total_len()) {
      s.call.mask = AttentionMask::kBias;
    } else if (g.past_len == 0) {
      s.call.mask = AttentionMask::kCausal;
    } else {
      s.call.mask = g.new_len == g.q_len ? AttentionMask::kCausalAtEnd : AttentionMask::kBias;
    }
    if (r.left >= 0 && r.left < g.total_len()) s.call.window = r.left + 1;
  }

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

  static void PlaceMasks(AttentionState& s, Scratch& scratch) {
    const AttentionGeometry& g = s.g;
    if (s.call.mask == AttentionMask::kBias) {
      s.call.bias_of_batch = s.rules.batch != 1;
      s.call.bias_of_head = s.rules.heads != 1;
      s.call.bias_row = (g.total_len() + 7) / 8 * 8;
      const int64_t rows = s.rules.batch * s.rules.heads * g.q_len;
      s.bias = scratch.Take(2 * rows * s.call.bias_row);
      s.hidden = scratch.Take(rows);
    } else if (s.call.mask == AttentionMask::kLengths) {
      s.rules.batch = g.batch;
      const auto width = static_cast<int64_t>(sizeof(int32_t));
      s.queries = scratch.Take(g.batch * width);
      s.counts = scratch.Take(g.batch * width);
      s.hidden = scratch.Take(g.batch);
    }
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

  static absl::Status CheckAligned(absl::Span<const void* const> memory) {
    for (const void* address : memory) {
      if (reinterpret_cast<uintptr_t>(address) % 16 != 0)
        return absl::InvalidArgumentError(
            "a tensor of the caller on the device does not begin at a multiple of 16 bytes");
    }
    return absl::OkStatus();
  }

  const AttentionAttributes attributes_;
  const DType dtype_;
  const bool grows_;
};

absl::Status CheckTypes(const AttentionAttributes& attributes, const NodeSpec& spec) {
  const DType dtype = spec.input_dtype(kQ);
  if (dtype != DType::kFloat16 && dtype != DType::kBFloat16)
    return absl::UnimplementedError("cuDNN's attention takes float16 and bfloat16");
  for (const int input : {kK, kV})
    if (spec.input_dtype(input) != dtype)
      return absl::UnimplementedError("only where Q, K and V have one type");
  for (const int input : {kPastKey, kPastValue})
    if (spec.has_input(input) && spec.input_dtype(input) != dtype)
      return absl::UnimplementedError("only caches in the type of K and V");
  const bool has_loop = DispatchDType(TypeList<bool, float, Float16, BFloat16>(),
                                      spec.input_dtype(kMask), [](auto) {});
  if (spec.has_input(kMask) && !has_loop)
    return absl::UnimplementedError("masks of bool, float32, float16 and bfloat16");
  if (attributes.softcap > 0) return absl::UnimplementedError("no softcap");
  if (attributes.softmax_precision == DType::kFloat64)
    return absl::UnimplementedError("cuDNN's softmax is in float32");
  if (spec.has_output(3)) return absl::UnimplementedError("no qk_matmul_output");
  return absl::OkStatus();
}

// The elements of a head of input `i`.
absl::StatusOr<int64_t> HeadSize(const NodeSpec& spec, int i, int64_t heads) {
  const std::optional<SymbolicDims>& dims = spec.input_type(i).shape;
  if (!dims || dims->size() < 3 || !dims->back().known())
    return absl::UnimplementedError("only heads whose size is known");
  return dims->size() == 4 ? dims->back().value()
                           : dims->back().value() / std::max<int64_t>(heads, 1);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeAttention(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const AttentionAttributes attributes, AttentionAttributes::Parse(spec));
  ONWARD_RETURN_IF_ERROR(CheckTypes(attributes, spec));
  ONWARD_ASSIGN_OR_RETURN(const int64_t size, HeadSize(spec, kK, attributes.kv_heads));
  ONWARD_ASSIGN_OR_RETURN(const int64_t v_size, HeadSize(spec, kV, attributes.kv_heads));
  ONWARD_RETURN_IF_ERROR(CheckAttentionHeads(size, v_size));
  const SymbolicDims& k = *spec.input_type(kK).shape;
  const bool grows = spec.has_input(kPastKey) || !k[k.size() - 2].known();
  return std::make_unique<Attention>(attributes, spec.input_dtype(kQ), grows);
}

constexpr KernelEntry kKernels[] = {{"", "Attention", "attention_cudnn", MakeAttention}};

}  // namespace

KernelList AttentionKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
