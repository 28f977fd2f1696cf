// The random stream of a node, the same on every device.
#pragma once

#include <algorithm>
#include <bit>

#include "absl/strings/numbers.h"
#include "graph/ops/onward_schemas.h"
#include "kernels/philox.h"
#include "onward/kernel.h"

namespace onward::kernels {

// Where the elements of a tensor that has some rows of a batch stand in that of the whole batch.
class BatchElements {
 public:
  // Dim `axis` counts the rows of the batch, or a number of elements for each; -1: none does.
  BatchElements(const BatchSlice& slice, DimsView dims, int axis) {
    const int64_t rows = std::max<int64_t>(slice.rows, 1);
    if (slice.whole == 0 || axis < 0 || axis >= static_cast<int>(dims.size())) return;
    const auto at = static_cast<size_t>(axis);
    if (dims[at] == 0 || dims[at] % rows != 0) return;
    const int64_t row = dims[at] / rows * NumElements(dims.subspan(at + 1));
    own_ = rows * row;
    whole_ = slice.whole * row;
    first_ = slice.begin * row;
  }

  // Returns whether element i stands there as number i.
  ONWARD_HOST_DEVICE bool in_place() const { return own_ == whole_; }
  // Where element i stands there.
  ONWARD_HOST_DEVICE int64_t At(int64_t i) const {
    return in_place() ? i : i / own_ * whole_ + first_ + i % own_;
  }

  // Calls use(begin, end, at) for the parts of [begin, end) that stand there in a row, from element
  // `at` on.
  template <typename Use>
  void ForEachPart(int64_t begin, int64_t end, const Use& use) const {
    if (in_place()) return use(begin, end, begin);
    for (int64_t i = begin; i < end;) {
      const int64_t until = std::min(end, (i / own_ + 1) * own_);
      use(i, until, At(i));
      i = until;
    }
  }

 private:
  int64_t own_ = 0, whole_ = 0, first_ = 0;
};

// Taken from the node once; gives the stream of each run. A `seed` attribute replaces the session's
// seed.
class RandomSource {
 public:
  explicit RandomSource(const NodeSpec& spec)
      : seed_(spec.options().seed), node_(static_cast<uint32_t>(spec.node_index())) {
    const auto stream = spec.node().metadata.find(kStreamKey);
    if (stream != spec.node().metadata.end()) (void)absl::SimpleAtoi(stream->second, &node_);
    const auto axis = spec.node().metadata.find(kBatchAxisKey);
    if (axis != spec.node().metadata.end()) (void)absl::SimpleAtoi(axis->second, &batch_axis_);
    if (spec.attributes().Has("seed"))
      seed_ = std::bit_cast<uint32_t>(spec.attributes().Float("seed", 0.0f));
  }
  RandomStream Stream(const RunContext& context) const {
    return {seed_, node_, static_cast<uint32_t>(context.services()->run_index())};
  }

  // The elements of a tensor of that run; element i draws number i of the stream.
  BatchElements Elements(const RunContext& context, DimsView dims) const {
    return {context.services()->batch_slice(), dims, batch_axis_};
  }

 private:
  uint64_t seed_;
  uint32_t node_;
  int batch_axis_ = -1;
};

}  // namespace onward::kernels
