// One change of an op's meaning.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "onnx_io/upgrade/node_upgrade.h"

namespace onward::onnx_io {

// Ops that no version of the standard's registry has any more (experiments of opsets 1 to 9) have
// rules with this `until`.
inline constexpr int64_t kLeftover = 1;

// `apply` turns a node with the meaning of version `until` - 1 into one with that of `until`, or
// replaces it by nodes of the newest meaning. It may make another op of it, whose later rules then
// follow. InvalidArgument: the node breaks its own version's rules; Unimplemented: it has a meaning
// that the newest opset cannot express.
struct UpgradeRule {
  std::string_view domain;
  std::string_view op;
  int64_t until;
  absl::Status (*apply)(NodeUpgrade& upgrade);
};
using UpgradeRules = std::vector<UpgradeRule>;

// Opset 6 removed `consumed_inputs`, a hint about memory, from every op that had it.
absl::Status DropConsumedInputs(NodeUpgrade& upgrade);

}  // namespace onward::onnx_io
