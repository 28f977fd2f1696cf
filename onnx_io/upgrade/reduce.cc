#include "onnx_io/upgrade/families.h"

namespace onward::onnx_io {

namespace {

absl::Status AxesToInput(NodeUpgrade& u) {
  u.AttributeToInput("axes", 1);
  return absl::OkStatus();
}

// Opset 28 takes integers away from the logarithms; the older versions gave the integer part.
absl::Status LogOfIntegers(NodeUpgrade& u) {
  const ValueId x = u.input(0);
  if (!IsInteger(u.dtype(x))) return absl::OkStatus();
  u.SetInput(0, u.Add("Cast", {x}, {{"to", static_cast<int64_t>(DType::kFloat64)}}));
  const ValueId y = u.TakeOutput(0);
  u.AddAs(y, "Cast", {u.output(0)}, {{"to", static_cast<int64_t>(u.dtype(x))}});
  return absl::OkStatus();
}

}  // namespace

UpgradeRules ReduceUpgrades() {
  UpgradeRules rules = {{"", "ReduceSum", 13, AxesToInput},
                        {"", "ReduceLogSum", 28, LogOfIntegers},
                        {"", "ReduceLogSumExp", 28, LogOfIntegers}};
  for (std::string_view op :
       {"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
        "ReduceMin", "ReduceProd", "ReduceSumSquare"}) {
    rules.push_back({"", op, 18, AxesToInput});
  }
  return rules;
}

}  // namespace onward::onnx_io
