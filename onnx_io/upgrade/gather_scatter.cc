#include "onnx_io/upgrade/families.h"

namespace onward::onnx_io {

namespace {

// Also where a model still uses the deprecated name.
absl::Status RenameToScatterElements(NodeUpgrade& u) {
  u.node.op_type = "ScatterElements";
  return absl::OkStatus();
}

absl::Status TopKCountToInput(NodeUpgrade& u) {
  u.AttributeToInput("k", 1);
  return absl::OkStatus();
}

// Until opset 11 a negative index was out of range: a row of off values. `depth` is out of range in
// every version.
absl::Status OneHotNegativesOff(NodeUpgrade& u) {
  const Attributes to_int64 = {{"to", static_cast<int64_t>(DType::kInt64)}};
  const ValueId indices = u.Add("Cast", {u.input(0)}, to_int64);
  const ValueId depth = u.Add("Cast", {u.input(1)}, to_int64);
  const ValueId scalar = u.Add("Reshape", {depth, u.Int64s("scalar_shape", {})});
  const ValueId negative = u.Add("Less", {indices, u.Int64("zero", 0)});
  u.SetInput(0, u.Add("Where", {negative, scalar, indices}));
  return absl::OkStatus();
}

}  // namespace

UpgradeRules GatherScatterUpgrades() {
  return {{"", "Scatter", 12, RenameToScatterElements},
          {"", "TopK", 10, TopKCountToInput},
          {"", "OneHot", 11, OneHotNegativesOff}};
}

}  // namespace onward::onnx_io
