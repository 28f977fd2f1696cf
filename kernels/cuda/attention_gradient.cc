// onward.AttentionGradient of 16-bit floats through cuDNN. Attention is computed again, with the
// logarithms of its rows' sums, from which cuDNN has each block of probabilities anew. Its
// workspace has a number for each query and key; heads are taken in slices so that it stays a small
// part of the device's memory.
#include "kernels/bind/attention_gradient.h"

#include <algorithm>

#include "kernels/cuda/attention_masks.h"
#include "kernels/cuda/attention_tiled.h"
#include "kernels/cuda/cudnn_plan.h"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/stream.h"

namespace onward::kernels::cuda {
namespace {

using namespace attention_gradient;  // NOLINT: numbers of inputs and outputs

constexpr int64_t kRounding = 64;  // queries and keys that the workspace is rounded to
constexpr int64_t kWidth = 2;      // bytes of an element
constexpr size_t kLeastCudnn = 91600;

// Batches and heads that one call takes, and the places of tensors in its memory.
struct Slices {
  int64_t batches = 0, heads = 0;  // of a call
  int64_t of_batches = 0, of_heads = 0;
};

struct AttentionGradientState {
  AttentionGeometry g;
  AttentionCall call;  // of one slice
  AttentionMasks masks;
  Slices slices;
  const CudnnPlan *forward = nullptr, *backward = nullptr;
  TiledGradient tiled;  // without plans
  int64_t y = 0, dy = 0, logs = 0, sums = 0, workspace = 0;
  int64_t unwanted[3] = {};  // gradients that the node has no output for
};

// The first divisor of `count` from it down whose slice needs no more than `most` bytes.
int64_t LargestSlice(int64_t count, int64_t bytes_of_one, int64_t most) {
  for (int64_t size = count; size > 1; --size)
    if (count % size == 0 && size * bytes_of_one <= most) return size;
  return 1;
}

// Bytes that the scores of a slice may take. Few slices keep a large device busy.
int64_t MostScores() {
  constexpr size_t kShare = 64;  // of the device's memory
  size_t free = 0, total = 0;
  if (cudaMemGetInfo(&free, &total) != cudaSuccess) total = 0;
  return std::max(PlanDemands().most_workspace / 2, static_cast<int64_t>(total / kShare));
}

Slices SlicesOf(const AttentionCall& call, int64_t most) {
  const AttentionGeometry& g = call.g;
  const auto rounded = [](int64_t length) {
    return (length + kRounding - 1) / kRounding * kRounding;
  };
  const int64_t of_head = kWidth * g.group() * rounded(g.q_len) * rounded(g.total_len());
  Slices s;
  // Counts of a batch would not begin at a multiple of 16.
  s.batches = call.mask == AttentionMask::kLengths
                  ? g.batch
                  : LargestSlice(g.batch, g.kv_heads * of_head, most);
  s.heads = LargestSlice(g.kv_heads, s.batches * of_head, most);
  s.of_batches = g.batch / s.batches, s.of_heads = g.kv_heads / s.heads;
  return s;
}

class AttentionGradient : public Kernel {
 public:
  AttentionGradient(const AttentionAttributes& attributes, DType dtype)
      : attributes_(attributes), dtype_(dtype) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const AttentionGeometry g, BindAttentionGradient(attributes_, context));
    auto* s = context.NewState<AttentionGradientState>();
    s->g = s->call.g = g;
    // cuDNN does not support one query with one key; all gradients are 0 where there is nothing.
    if (g.batch * g.q_heads == 0 || g.q_len * g.total_len() <= 1) {
      s->tiled = PlaceTiledGradient(attributes_, g, context);
      return absl::OkStatus();
    }
    s->call.dtype = dtype_;
    AttentionMaskInputs inputs;
    if (context.has_input(kMask)) inputs.mask_dtype = context.input_dtype(kMask);
    inputs.has_counts = context.has_input(kNonpad);
    s->masks = ChooseMask(attributes_, inputs, s->call);
    Scratch scratch;
    PlaceMask(s->call, s->masks, scratch);
    const int64_t like_y = kWidth * g.batch * g.q_heads * g.q_len * g.v_head_size;
    s->y = scratch.Take(like_y);
    s->dy = scratch.Take(like_y);
    const int64_t sizes[] = {g.batch * g.q_heads * g.q_len * g.head_size,
                             g.batch * g.kv_heads * g.total_len() * g.head_size,
                             g.batch * g.kv_heads * g.total_len() * g.v_head_size};
    for (int i = 0; i < 3; ++i)
      if (!context.has_output(i)) s->unwanted[i] = scratch.Take(kWidth * sizes[i]);
    ONWARD_RETURN_IF_ERROR(PlanSlices(*s, scratch));
    context.SetScratch(scratch.size());
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const auto& s = context.state<AttentionGradientState>();
    if (s.backward == nullptr) return RunTiledGradient(s.tiled, context);
    cudaStream_t stream = StreamOf(context);
    char* scratch = context.scratch<char>();
    AttentionMasks masks = s.masks;
    if (context.has_input(kMask)) masks.rules.mask = context.input(kMask).data;
    if (context.has_input(kNonpad)) masks.rules.counts = context.in<int64_t>(kNonpad);
    masks.rules.fault = context.services()->device_fault();
    std::vector<const void*> mask;
    ONWARD_RETURN_IF_ERROR(WriteMask(s.call, masks, scratch, stream, &mask));
    const void* dy = context.input(kDy).data;
    if (HidesRows(s.call, masks.rules)) {
      // Rows that attend nothing have no gradient; cuDNN would have them attend something.
      ONWARD_RETURN_IF_ERROR(ToStatus(cudaMemcpyAsync(
          scratch + s.dy, dy, context.input(kDy).byte_size(), cudaMemcpyDeviceToDevice, stream)));
      AttentionCall whole = s.call;
      whole.g = s.g;
      ONWARD_RETURN_IF_ERROR(ZeroHidden(whole, masks, scratch, scratch + s.dy, stream));
      dy = scratch + s.dy;
    }
    for (int64_t i = 0; i < s.slices.of_batches * s.slices.of_heads; ++i)
      ONWARD_RETURN_IF_ERROR(RunSlice(context, s, i, mask, dy, stream));
    return absl::OkStatus();
  }

 private:
  // Plans both directions of a slice, which use the rest of the scratch one after the other.
  static absl::Status PlanSlices(AttentionGradientState& s, Scratch& scratch) {
    const int64_t most = MostScores();
    s.slices = SlicesOf(s.call, most);
    AttentionGeometry& g = s.call.g;
    const int64_t group = g.group();
    g.batch = s.slices.batches, g.kv_heads = s.slices.heads, g.q_heads = group * g.kv_heads;
    s.call.keeps_logs = true;
    const int64_t of_rows = static_cast<int64_t>(sizeof(float)) * g.batch * g.q_heads * g.q_len;
    s.logs = scratch.Take(of_rows);
    s.sums = scratch.Take(of_rows);
    PlanDemands demands;
    demands.most_workspace = 2 * most;  // of the scores and of what cuDNN has beside them
    ONWARD_ASSIGN_OR_RETURN(s.forward, PlanGraph(AttentionGraph(s.call), demands));
    ONWARD_ASSIGN_OR_RETURN(s.backward, PlanGraph(AttentionGradientGraph(s.call), demands));
    s.workspace = scratch.Take(std::max(s.forward->workspace(), s.backward->workspace()));
    return absl::OkStatus();
  }

  static absl::Status RunSlice(RunContext& context, const AttentionGradientState& s, int64_t slice,
                               const std::vector<const void*>& mask, const void* dy,
                               cudaStream_t stream) {
    const AttentionGeometry& g = s.g;
    const int64_t batch = slice / s.slices.of_heads * s.slices.batches;
    const int64_t head = slice % s.slices.of_heads * s.slices.heads, q_head = head * g.group();
    const auto at = [](const void* data, int64_t elements) -> const void* {
      return static_cast<const char*>(data) + kWidth * elements;
    };
    char* scratch = context.scratch<char>();
    const int64_t of_q = batch * g.q_batch + q_head * g.q_head;
    const int64_t of_k = batch * g.k_batch + head * g.k_head;
    const int64_t of_v = batch * g.v_batch + head * g.v_head;
    const int64_t of_y = batch * g.y_batch + q_head * g.y_head;
    std::vector<const void*> memory = {at(context.input(kQ).data, of_q),
                                       at(context.input(kK).data, of_k),
                                       at(context.input(kV).data, of_v)};
    memory.insert(memory.end(), mask.begin(), mask.end());
    if (s.call.mask == AttentionMask::kBias)
      memory.back() = at(mask[0], batch * s.call.bias_batch + q_head * s.call.bias_head);
    const void* y = at(scratch + s.y, of_y);
    const auto gradient = [&](int i, int64_t elements) {
      return at(context.has_output(i) ? context.output(i).data : scratch + s.unwanted[i], elements);
    };
    std::vector<const void*> backward = memory;
    memory.insert(memory.end(), {y, scratch + s.logs});
    backward.insert(backward.end(),
                    {y, at(dy, of_y), scratch + s.logs, scratch + s.sums, gradient(kDv, of_v),
                     gradient(kDk, of_k), gradient(kDq, of_q)});
    ONWARD_RETURN_IF_ERROR(CheckAligned(backward));
    ONWARD_RETURN_IF_ERROR(s.forward->Run(memory, scratch + s.workspace, stream));
    return s.backward->Run(backward, scratch + s.workspace, stream);
  }

  const AttentionAttributes attributes_;
  const DType dtype_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeAttentionGradient(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const AttentionAttributes attributes, AttentionAttributes::Parse(spec));
  ONWARD_RETURN_IF_ERROR(CheckCudnnAttention(attributes, spec, kMask));
  if (cudnnGetVersion() < kLeastCudnn)
    return absl::UnimplementedError("cuDNN before 9.16 needs keys in multiples of 128");
  return std::make_unique<AttentionGradient>(attributes, spec.input_dtype(kQ));
}

constexpr KernelEntry kKernels[] = {
    {"onward", "AttentionGradient", "attention_gradient_cudnn", MakeAttentionGradient}};

}  // namespace

KernelList AttentionGradientKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
