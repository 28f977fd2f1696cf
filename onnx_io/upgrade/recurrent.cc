#include "onnx_io/upgrade/families.h"

namespace onward::onnx_io {

namespace {

// Since opset 7 an output is there when it is named; before, `output_sequence` promised nothing
// else.
absl::Status DropOutputSequence(NodeUpgrade& u) {
  u.attributes().Erase("output_sequence");
  return absl::OkStatus();
}

// The standard's first GRU spelled its default so.
absl::Status SpellForward(NodeUpgrade& u) {
  if (u.attributes().String("direction") == "foward") u.attributes().Set("direction", "forward");
  return absl::OkStatus();
}

}  // namespace

UpgradeRules RecurrentUpgrades() {
  return {{"", "GRU", 3, SpellForward},
          {"", "GRU", 7, DropOutputSequence},
          {"", "LSTM", 7, DropOutputSequence},
          {"", "RNN", 7, DropOutputSequence}};
}

}  // namespace onward::onnx_io
