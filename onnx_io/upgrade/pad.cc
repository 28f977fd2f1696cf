#include "onnx_io/upgrade/families.h"

namespace onward::onnx_io {

namespace {

absl::Status PaddingsToPads(NodeUpgrade& u) {
  if (const Attribute* paddings = u.attributes().Find("paddings")) {
    u.attributes().Set("pads", *paddings);
    u.attributes().Erase("paddings");
  }
  return absl::OkStatus();
}

absl::Status PadsAndValueToInputs(NodeUpgrade& u) {
  u.AttributeToInput("pads", 1);
  const float value = u.attributes().Float("value", 0);
  u.attributes().Erase("value");
  if (value != 0 && u.attributes().String("mode", "constant") == "constant") {
    u.SetInput(2, u.FloatLike("value", value, u.input(0)));
  }
  return absl::OkStatus();
}

}  // namespace

UpgradeRules PadUpgrades() {
  return {{"", "Pad", 2, PaddingsToPads}, {"", "Pad", 11, PadsAndValueToInputs}};
}

}  // namespace onward::onnx_io
