// The plan of Einsum: each operand loses the labels that nothing else reads, then operands are
// multiplied from left to right as batched matrix products, and the result is permuted to the
// output.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/bind/einsum.h"
#include "onward/kernel.h"

namespace onward::kernels::cpu {

// Offsets of every index of some axes, row-major.
using EinsumOffsets = absl::Span<int64_t>;

// out[i] = sum over s of in[kept[i] + summed[s]].
struct EinsumSum {
  EinsumOffsets kept, summed;
};

// out[b, m, n] = sum over k of left[batch + m + k] * right[batch + n + k].
struct EinsumProduct {
  EinsumOffsets left_batch, left_m, left_k;
  EinsumOffsets right_batch, right_n, right_k;
  // Where the results of the last product lie in the output, if it leaves nothing to sum.
  EinsumOffsets out_batch, out_m, out_n;
};

struct EinsumStep {
  bool product = false;
  EinsumSum sum;
  EinsumProduct multiply;
  int left = 0;         // input index, or -1 - buffer
  int right = 0;        // the same, of a product
  int64_t to = 0;       // offset of the result in scratch, in elements; -1: the output
  int64_t left_at = 0;  // offset in scratch when `left` is a buffer
  int64_t right_at = 0;
};

// The steps, of which the last is a sum to the output, and the elements of scratch that they need.
struct EinsumPlan {
  absl::Span<EinsumStep> steps;
  int64_t scratch = 0;
};

// Plans in the memory of the binding. InvalidArgument when intermediate results are too large.
absl::StatusOr<EinsumPlan> PlanEinsum(BindContext& context, const EinsumTerms& terms);

template <typename In, typename Out, typename Acc>
void RunEinsumSum(const RunContext& context, const EinsumSum& s, const In* from, Out* to) {
  const int64_t count = static_cast<int64_t>(s.kept.size());
  const int64_t grain =
      std::max<int64_t>(1, (int64_t{1} << 15) / (static_cast<int64_t>(s.summed.size()) + 1));
  context.ParallelFor(count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const In* base = from + s.kept[static_cast<size_t>(i)];
      Acc sum = 0;
      for (int64_t offset : s.summed) sum += static_cast<Acc>(base[offset]);
      to[i] = static_cast<Out>(sum);
    }
  });
}

}  // namespace onward::kernels::cpu
