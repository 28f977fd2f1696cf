// The random stream of a node.
#pragma once

#include <bit>

#include "absl/strings/numbers.h"
#include "graph/ops/onward_schemas.h"
#include "kernels/kernel.h"
#include "kernels/philox.h"

namespace onward::cpu {

// Taken from the node once; gives the stream of each run. A `seed` attribute replaces the session's
// seed.
class RandomSource {
 public:
  explicit RandomSource(const NodeSpec& spec)
      : seed_(spec.options().seed), node_(static_cast<uint32_t>(spec.node_index())) {
    const auto stream = spec.node().metadata.find(kStreamKey);
    if (stream != spec.node().metadata.end()) (void)absl::SimpleAtoi(stream->second, &node_);
    if (spec.attributes().Has("seed"))
      seed_ = std::bit_cast<uint32_t>(spec.attributes().Float("seed", 0.0f));
  }
  RandomStream Stream(const RunContext& context) const {
    return {seed_, node_, static_cast<uint32_t>(context.services()->run_index())};
  }

 private:
  uint64_t seed_;
  uint32_t node_;
};

}  // namespace onward::cpu
