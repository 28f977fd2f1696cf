#include "absl/strings/str_cat.h"
#include "onnx_io/upgrade/families.h"

namespace onward::onnx_io {

namespace {

constexpr int64_t kInt64Type = static_cast<int64_t>(DType::kInt64);

absl::Status AxesToInput(NodeUpgrade& u) {
  u.AttributeToInput("axes", 1);
  return absl::OkStatus();
}

absl::Status ShapeToInput(NodeUpgrade& u) {
  u.AttributeToInput("shape", 1);
  return DropConsumedInputs(u);
}

absl::Status SliceRangesToInputs(NodeUpgrade& u) {
  u.AttributeToInput("starts", 1);
  u.AttributeToInput("ends", 2);
  u.AttributeToInput("axes", 3);
  return absl::OkStatus();
}

// The default of opset 1; later ones have none.
absl::Status ConcatDefaultAxis(NodeUpgrade& u) {
  if (!u.Has("axis")) u.attributes().Set("axis", int64_t{1});
  return absl::OkStatus();
}

// Opset 1 could give the lengths as an input of the data's dtype.
absl::Status SplitLengthsToIntegers(NodeUpgrade& u) {
  if (!u.input(1).valid()) return absl::OkStatus();
  u.SetInput(1, u.Add("Cast", {u.input(1)}, {{"to", kInt64Type}}));
  u.attributes().Erase("split");
  return absl::OkStatus();
}

absl::Status SplitLengthsToInput(NodeUpgrade& u) {
  u.AttributeToInput("split", 1);
  return absl::OkStatus();
}

absl::Status SplitNumOutputs(NodeUpgrade& u) {
  if (!u.input(1).valid()) {
    u.attributes().Set("num_outputs", static_cast<int64_t>(u.num_outputs()));
  }
  return absl::OkStatus();
}

// Opset 1: `tiles` copies along `axis`, both scalars of the data's dtype.
absl::Status TilesToRepeats(NodeUpgrade& u) {
  if (!u.input(1).valid() || !u.input(2).valid()) {
    return absl::InvalidArgumentError("the inputs `tiles` and `axis` are needed");
  }
  const ValueId one_element = u.Int64s("one_element", {1});
  const auto index = [&](ValueId scalar) {
    const ValueId integer = u.Add("Cast", {scalar}, {{"to", kInt64Type}});
    return u.Add("Reshape", {integer, one_element});
  };
  const ValueId ones = u.Ones(u.RankTensor(u.input(0)));
  const ValueId repeats = u.Add("ScatterElements", {ones, index(u.input(2)), index(u.input(1))});
  u.node.inputs.resize(1);
  u.SetInput(1, repeats);
  return absl::OkStatus();
}

}  // namespace

UpgradeRules LayoutUpgrades() {
  return {{"", "Squeeze", 13, AxesToInput},       {"", "Unsqueeze", 13, AxesToInput},
          {"", "Reshape", 5, ShapeToInput},       {"", "Slice", 10, SliceRangesToInputs},
          {"", "Concat", 4, ConcatDefaultAxis},   {"", "Split", 2, SplitLengthsToIntegers},
          {"", "Split", 13, SplitLengthsToInput}, {"", "Split", 18, SplitNumOutputs},
          {"", "Tile", 6, TilesToRepeats}};
}

}  // namespace onward::onnx_io
