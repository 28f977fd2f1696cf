#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "onnx_io/upgrade/families.h"

namespace onward::onnx_io {

namespace {

// Opsets 1 and 6 wrote the test mode down; only it has one output.
absl::Status IsTestToOutputs(NodeUpgrade& u) {
  if (u.attributes().Int("is_test", 0) != 0 && u.num_outputs() > 1) u.node.outputs.resize(1);
  u.attributes().Erase("is_test");
  return absl::OkStatus();
}

bool HasTrainingOutputs(const NodeUpgrade& u) {
  for (int i = 1; i < u.num_outputs(); ++i) {
    if (u.output(i).valid()) return true;
  }
  return false;
}

struct Moments {
  ValueId mean;
  ValueId variance;  // of the population
};

Moments MomentsOver(NodeUpgrade& u, ValueId x, const std::vector<int64_t>& axes) {
  const ValueId over = u.Int64s("axes", axes);
  const Attributes keep = {{"keepdims", int64_t{1}}};
  const Attributes reduce = {{"keepdims", int64_t{0}}};
  const ValueId centered = u.Add("Sub", {x, u.Add("ReduceMean", {x, over}, keep)});
  const ValueId squares = u.Add("Mul", {centered, centered});
  return {u.Add("ReduceMean", {x, over}, reduce), u.Add("ReduceMean", {squares, over}, reduce)};
}

// running * momentum + current * (1 - momentum)
void AddRunning(NodeUpgrade& u, int output, ValueId running, ValueId current) {
  if (!u.output(output).valid()) return;
  const float momentum = u.attributes().Float("momentum", 0.9f);
  const ValueId old_part = u.Add("Mul", {running, u.FloatLike("momentum", momentum, running)});
  const ValueId new_part =
      u.Add("Mul", {current, u.FloatLike("one_minus_momentum", 1 - momentum, running)});
  u.AddAs(u.output(output), "Add", {old_part, new_part});
}

// Until opset 9 `spatial` = 0 normalised every element of a sample by its own statistics, which
// have the shape of a sample.
absl::Status PerActivation(NodeUpgrade& u) {
  const bool spatial = u.attributes().Int("spatial", 1) != 0;
  u.attributes().Erase("spatial");
  if (spatial) return absl::OkStatus();
  const ValueId x = u.input(0);
  ValueId mean = u.input(3);
  ValueId variance = u.input(4);
  if (HasTrainingOutputs(u)) {
    const Moments batch = MomentsOver(u, x, {0});
    AddRunning(u, 1, mean, batch.mean);
    AddRunning(u, 2, variance, batch.variance);
    mean = batch.mean;
    variance = batch.variance;
    if (u.output(3).valid()) u.AddAs(u.output(3), "Identity", {mean});
    if (u.output(4).valid()) u.AddAs(u.output(4), "Identity", {variance});
  }
  const ValueId epsilon = u.FloatLike("epsilon", u.attributes().Float("epsilon", 1e-5f), x);
  const ValueId deviation = u.Add("Sqrt", {u.Add("Add", {variance, epsilon})});
  const ValueId normal = u.Add("Div", {u.Add("Sub", {x, mean}), deviation});
  u.AddAs(u.output(0), "Add", {u.Add("Mul", {normal, u.input(1)}), u.input(2)});
  u.Drop();
  return absl::OkStatus();
}

// Until opset 14 the outputs told whether it trains, and two of them were the batch's statistics.
absl::Status OutputsToTrainingMode(NodeUpgrade& u) {
  if (!HasTrainingOutputs(u)) {
    if (u.num_outputs() > 1) u.node.outputs.resize(1);
    return absl::OkStatus();
  }
  u.attributes().Set("training_mode", int64_t{1});
  const ValueId saved_mean = u.output(3);
  const ValueId saved_variance = u.output(4);
  if (saved_mean.valid() || saved_variance.valid()) {
    const ValueId rows = u.Add("Reshape", {u.input(0), u.Int64s("rows", {0, 0, -1})});
    const Moments batch = MomentsOver(u, rows, {0, 2});
    if (saved_mean.valid()) u.AddAs(saved_mean, "Identity", {batch.mean});
    if (saved_variance.valid()) u.AddAs(saved_variance, "Identity", {batch.variance});
  }
  if (u.num_outputs() > 3) u.node.outputs.resize(3);
  return absl::OkStatus();
}

// Until opset 21 scale and bias were given per group.
absl::Status GroupsToChannels(NodeUpgrade& u) {
  const int64_t groups = u.attributes().Int("num_groups", 0);
  if (groups <= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_groups is ", groups, " but must be positive"));
  }
  const ValueId x = u.input(0);
  const ValueId channels = u.Add("Shape", {x}, {{"start", int64_t{1}}, {"end", int64_t{2}}});
  const ValueId per_group = u.Add("Div", {channels, u.Int64s("groups", {groups})});
  const ValueId expanded_shape =
      u.Add("Concat", {u.Int64s("groups", {groups}), per_group}, {{"axis", int64_t{0}}});
  const ValueId column = u.Int64s("column", {groups, 1});
  const ValueId flat = u.Int64s("flat", {-1});
  for (int i = 1; i <= 2; ++i) {
    const ValueId expanded =
        u.Add("Expand", {u.Add("Reshape", {u.input(i), column}), expanded_shape});
    u.SetInput(i, u.Add("Reshape", {expanded, flat}));
  }
  // It computed in the dtype of the data; float would be too narrow for double alone.
  if (u.dtype(x) == DType::kFloat64) {
    u.attributes().Set("stash_type", static_cast<int64_t>(DType::kFloat64));
  }
  return absl::OkStatus();
}

}  // namespace

UpgradeRules NormalizationUpgrades() {
  return {{"", "BatchNormalization", 6, DropConsumedInputs},
          {"", "BatchNormalization", 7, IsTestToOutputs},
          {"", "BatchNormalization", 9, PerActivation},
          {"", "BatchNormalization", 14, OutputsToTrainingMode},
          {"", "InstanceNormalization", 6, DropConsumedInputs},
          {"", "GroupNormalization", 21, GroupsToChannels}};
}

}  // namespace onward::onnx_io
