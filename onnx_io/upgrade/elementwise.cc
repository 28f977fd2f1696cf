#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "onnx/onnx_pb.h"
#include "onnx_io/upgrade/families.h"

namespace onward::onnx_io {

namespace {

constexpr std::string_view kAi;  // the standard's own domain

// B with ones after its dims, as many as align its first dim with A's `axis`, counted in the graph.
ValueId AlignedAtRun(NodeUpgrade& u, ValueId a, ValueId b, int64_t axis) {
  ValueId trailing;
  if (axis < 0) {
    trailing = u.Add("Sub", {u.Int64s("from_end", {-axis}), u.RankTensor(b)});
  } else {
    const ValueId after = u.Add("Sub", {u.RankTensor(a), u.Int64s("axis", {axis})});
    trailing = u.Add("Sub", {after, u.RankTensor(b)});
  }
  const ValueId ones = u.Ones(u.Add("Max", {trailing, u.Int64s("zero", {0})}));
  const ValueId shape = u.Add("Concat", {u.Add("Shape", {b}), ones}, {{"axis", int64_t{0}}});
  return u.Add("Reshape", {b, shape}, {{"allowzero", int64_t{1}}});
}

// Before opset 7, `axis` said which dim of A the first dim of B belongs to. Without it the last
// dims match, as they do by the newer rule; without `broadcast` the shapes are equal.
absl::Status AxisToTrailingOnes(NodeUpgrade& u) {
  const bool broadcast = u.attributes().Int("broadcast", 0) != 0;
  const bool has_axis = u.Has("axis");
  const int64_t axis = u.attributes().Int("axis", 0);
  u.attributes().Erase("broadcast");
  u.attributes().Erase("axis");
  if (!broadcast || !has_axis) return absl::OkStatus();
  const ValueId a = u.input(0);
  const ValueId b = u.input(1);
  const auto rank_a = u.Rank(a);
  const auto rank_b = u.Rank(b);
  if (!rank_a || !rank_b) {
    u.SetInput(1, AlignedAtRun(u, a, b, axis));
    return absl::OkStatus();
  }
  const int64_t start = axis < 0 ? axis + *rank_a : axis;
  if (start < 0 || start > *rank_a) {
    return absl::InvalidArgumentError(
        absl::StrCat("axis ", axis, " is out of range for rank ", *rank_a));
  }
  std::vector<int64_t> axes;
  for (int64_t i = *rank_b; i < *rank_a - start; ++i) axes.push_back(i);
  if (!axes.empty()) u.SetInput(1, u.Add("Unsqueeze", {b, u.Int64s("axes", axes)}));
  return absl::OkStatus();
}

// Before opset 7 a slope of one dim belonged to the channels.
absl::Status SlopeToChannels(NodeUpgrade& u) {
  const ValueId slope = u.input(1);
  const auto rank = u.Rank(u.input(0));
  const auto slope_rank = u.Rank(slope);
  if (slope_rank && *slope_rank != 1) return absl::OkStatus();
  if (rank && slope_rank) {
    std::vector<int64_t> axes;
    for (int64_t i = 1; i + 1 < *rank; ++i) axes.push_back(i);
    if (!axes.empty()) u.SetInput(1, u.Add("Unsqueeze", {slope, u.Int64s("axes", axes)}));
    return absl::OkStatus();
  }
  u.SetInput(1, AlignedAtRun(u, u.input(0), slope, 1));
  return absl::OkStatus();
}

// Opset 6 gave the defaults more digits.
absl::Status SeluDefaults(NodeUpgrade& u) {
  if (!u.Has("alpha")) u.attributes().Set("alpha", 1.6732f);
  if (!u.Has("gamma")) u.attributes().Set("gamma", 1.0507f);
  return DropConsumedInputs(u);
}

absl::Status ClipBoundsToInputs(NodeUpgrade& u) {
  int index = 1;
  for (const char* bound : {"min", "max"}) {
    if (u.Has(bound)) {
      u.SetInput(index, u.FloatLike(bound, u.attributes().Float(bound, 0), u.input(0)));
      u.attributes().Erase(bound);
    }
    ++index;
  }
  return absl::OkStatus();
}

absl::Status CastTargetToNumber(NodeUpgrade& u) {
  const std::string name = absl::AsciiStrToUpper(u.attributes().String("to"));
  onnx::TensorProto_DataType dtype;
  if (!onnx::TensorProto_DataType_Parse(name, &dtype)) {
    return absl::InvalidArgumentError(absl::StrCat("'", name, "' in `to` is not an element type"));
  }
  u.attributes().Set("to", static_cast<int64_t>(dtype));
  return absl::OkStatus();
}

// Gemm's C has broadcast by shape alone since opset 7, as Add's B without `axis`.
absl::Status DropBroadcast(NodeUpgrade& u) {
  u.attributes().Erase("broadcast");
  return absl::OkStatus();
}

}  // namespace

UpgradeRules ElementwiseUpgrades() {
  UpgradeRules rules = {{kAi, "PRelu", 7, SlopeToChannels},
                        {kAi, "Gemm", 7, DropBroadcast},
                        {kAi, "Selu", 6, SeluDefaults},
                        {kAi, "Clip", 11, ClipBoundsToInputs},
                        {kAi, "Cast", 6, CastTargetToNumber}};
  for (std::string_view op :
       {"Abs",         "Add",        "Ceil", "Clip",    "Div",  "Elu", "Exp", "Floor",
        "HardSigmoid", "LeakyRelu",  "Log",  "Max",     "Mean", "Min", "Mul", "Neg",
        "PRelu",       "Reciprocal", "Relu", "Sigmoid", "Sqrt", "Sub", "Sum", "Tanh"}) {
    rules.push_back({kAi, op, 6, DropConsumedInputs});
  }
  for (std::string_view op :
       {"Add", "And", "Div", "Equal", "Greater", "Less", "Mul", "Or", "Pow", "Sub", "Xor"}) {
    rules.push_back({kAi, op, 7, AxisToTrailingOnes});
  }
  return rules;
}

}  // namespace onward::onnx_io
