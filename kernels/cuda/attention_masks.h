// The keys that count, in the forms that cuDNN's kernels of Attention and of its gradient take.
#pragma once

#include <vector>

#include "kernels/cuda/attention_graph.h"
#include "kernels/cuda/attention_parts.h"
#include "kernels/cuda/scratch.h"

namespace onward::kernels::cuda {

// The inputs of one binding that say which keys count; mask_dtype is kUndefined without a mask.
struct AttentionMaskInputs {
  DType mask_dtype = DType::kUndefined;
  bool has_counts = false;
  bool grows = false;  // keys may be more in each run
};

// The rules of one binding, and where the scratch has what says so to cuDNN.
struct AttentionMasks {
  AttentionRules rules;
  int64_t bias = 0, hidden = 0, queries = 0, counts = 0;
};

// The elements of a head of an input; Unimplemented where they are not known.
absl::StatusOr<int64_t> AttentionHeadSize(const NodeSpec& spec, int input, int64_t heads);

// Unimplemented: types of the inputs, or of the mask, that the device's kernels do not take.
absl::Status CheckAttentionRules(const AttentionAttributes& attributes, const NodeSpec& spec,
                                 int mask_input);
// Unimplemented: what cuDNN's kernels do not take, these among them.
absl::Status CheckCudnnAttention(const AttentionAttributes& attributes, const NodeSpec& spec,
                                 int mask_input);

// Sets the mask and the scale of `call`, whose geometry and dtype are set; what cuDNN has no form
// for is a bias.
AttentionMasks ChooseMask(const AttentionAttributes& attributes, const AttentionMaskInputs& inputs,
                          AttentionCall& call);
void PlaceMask(AttentionCall& call, AttentionMasks& masks, Scratch& scratch);

// Writes the bias or the counts, and appends their addresses to those of the graph's memory.
absl::Status WriteMask(const AttentionCall& call, const AttentionMasks& masks, char* scratch,
                       cudaStream_t stream, std::vector<const void*>* memory);

// Returns whether rows may attend nothing, to which cuDNN gives numbers.
bool HidesRows(const AttentionCall& call, const AttentionRules& rules);
// Zeros for those rows of `y`, which lies as Y does. After WriteMask.
absl::Status ZeroHidden(const AttentionCall& call, const AttentionMasks& masks, const char* scratch,
                        void* y, cudaStream_t stream);

// InvalidArgument: memory of the caller that cuDNN would not take.
absl::Status CheckAligned(absl::Span<const void* const> memory);

}  // namespace onward::kernels::cuda
