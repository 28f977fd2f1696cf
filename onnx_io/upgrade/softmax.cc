#include <optional>

#include "onnx_io/upgrade/families.h"

namespace onward::onnx_io {

namespace {

// Before opset 13 the input counted as a matrix: the dims before `axis` by those from it on.
absl::Status FlattenToMatrix(NodeUpgrade& u) {
  const int64_t axis = u.attributes().Int("axis", 1);
  const ValueId x = u.input(0);
  const std::optional<int64_t> rank = u.Rank(x);
  u.attributes().Set("axis", int64_t{-1});
  if (axis == -1 || (rank && axis == *rank - 1)) return absl::OkStatus();
  u.SetInput(0, u.Add("Flatten", {x}, {{"axis", axis}}));
  const ValueId y = u.TakeOutput(0);
  u.AddAs(y, "Reshape", {u.output(0), u.Add("Shape", {x})}, {{"allowzero", int64_t{1}}});
  return absl::OkStatus();
}

}  // namespace

UpgradeRules SoftmaxUpgrades() {
  return {{"", "Softmax", 13, FlattenToMatrix},
          {"", "LogSoftmax", 13, FlattenToMatrix},
          {"", "Hardmax", 13, FlattenToMatrix}};
}

}  // namespace onward::onnx_io
