#include "onnx_io/upgrade/families.h"

namespace onward::onnx_io {

namespace {

absl::Status DftAxisToInput(NodeUpgrade& u) {
  u.SetInput(2, u.Int64("axis", u.attributes().Int("axis", 1)));
  u.attributes().Erase("axis");
  return absl::OkStatus();
}

}  // namespace

UpgradeRules SignalUpgrades() { return {{"", "DFT", 20, DftAxisToInput}}; }

}  // namespace onward::onnx_io
