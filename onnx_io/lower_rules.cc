#include "onnx_io/lower_rules.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/ir/graph_edit.h"
#include "graph/ops/onward_schemas.h"
#include "graph/rewrite/match.h"
#include "onward/status.h"

namespace onward::onnx_io {
namespace {

void DropTrailingInputs(Graph& graph, NodeId id, size_t from) {
  Node& node = GraphEdit(graph).node(id);
  for (size_t i = from; i < node.inputs.size(); ++i)
    GraphEdit(graph).SetInput(id, static_cast<int>(i), {});
  if (node.inputs.size() > from) node.inputs.resize(from);
}

// Nothing happens where the input is omitted.
absl::Status InputToAttribute(Graph& graph, NodeId id, int input, std::string_view attribute) {
  const ValueId value = InputOf(graph.node(id), input);
  if (value.valid()) {
    const auto elements = IntElements(graph, value);
    if (!elements) {
      return absl::UnimplementedError(absl::StrCat(
          "its `", std::string(attribute), "` is computed, but is an attribute in that opset"));
    }
    GraphEdit(graph).node(id).attributes.Set(std::string(attribute), *elements);
  }
  DropTrailingInputs(graph, id, static_cast<size_t>(input));
  return absl::OkStatus();
}

absl::Status AxesToAttribute(Graph& graph, NodeId id) {
  return InputToAttribute(graph, id, 1, "axes");
}

// No axes are all axes, or with noop_with_empty_axes none.
absl::Status ReducedAxesToAttribute(Graph& graph, NodeId id) {
  Attributes& attributes = GraphEdit(graph).node(id).attributes;
  const bool none = attributes.Int("noop_with_empty_axes", 0) != 0;
  attributes.Erase("noop_with_empty_axes");
  ONWARD_RETURN_IF_ERROR(AxesToAttribute(graph, id));
  if (!attributes.Ints("axes").empty()) return absl::OkStatus();
  attributes.Erase("axes");
  return none ? absl::UnimplementedError("it reduces no axes, which that opset cannot express")
              : absl::OkStatus();
}

// Before opset 18 parts without lengths were equal: runtimes refuse other sizes.
absl::Status SplitEqually(Graph& graph, NodeId id) {
  Node& node = GraphEdit(graph).node(id);
  const int64_t parts = node.attributes.Int("num_outputs", 0);
  if (parts == 0) return absl::OkStatus();
  if (!node.inputs[0].valid()) return absl::InvalidArgumentError("it has no input");
  const Type& type = graph.type(node.inputs[0]);
  const int64_t axis = node.attributes.Int("axis", 0);
  if (type.shape) {
    const auto rank = static_cast<int64_t>(type.shape->size());
    const auto at = static_cast<size_t>(axis < 0 ? axis + rank : axis);
    if (at < type.shape->size() && (*type.shape)[at].known() &&
        (*type.shape)[at].value() % parts != 0)
      return absl::UnimplementedError(
          "its parts have different lengths, which that opset does not allow");
  }
  if (parts != static_cast<int64_t>(node.outputs.size()))
    return absl::UnimplementedError(
        "it has fewer outputs than num_outputs, which that opset does not allow");
  node.attributes.Erase("num_outputs");
  return absl::OkStatus();
}

absl::Status SplitLengthsToAttribute(Graph& graph, NodeId id) {
  return InputToAttribute(graph, id, 1, "split");
}

absl::Status NoTrainingMode(Graph& graph, NodeId id) {
  Node& node = GraphEdit(graph).node(id);
  if (node.attributes.Int("training_mode", 0) != 0)
    return absl::UnimplementedError("its outputs differ in that opset with training_mode");
  node.attributes.Erase("training_mode");
  return absl::OkStatus();
}

// Opset 10 and 11 did nothing when they did not train, and left the mask open.
absl::Status DropoutRatioToAttribute(Graph& graph, NodeId id) {
  Node& node = GraphEdit(graph).node(id);
  if (node.outputs.size() > 1 && node.outputs[1].valid())
    return absl::UnimplementedError("that opset does not define its mask in inference");
  if (const ValueId training = InputOf(node, 2); training.valid() && !IsScalar(graph, training, 0))
    return absl::UnimplementedError(
        "its training_mode is true or computed, which that opset cannot say");
  if (const ValueId ratio = InputOf(node, 1); ratio.valid()) {
    const auto number = ScalarValue(graph, ratio);
    if (!number)
      return absl::UnimplementedError("its `ratio` is computed, but is an attribute in that opset");
    node.attributes.Set("ratio", static_cast<float>(*number));
  }
  DropTrailingInputs(graph, id, 1);
  node.attributes.Erase("seed");
  return absl::OkStatus();
}

absl::Status GridSampleModes(Graph& graph, NodeId id) {
  Node& node = GraphEdit(graph).node(id);
  if (RankOf(graph, node.inputs[0]) != 4)
    return absl::UnimplementedError("it takes only images (rank 4) in that opset");
  const std::string mode = node.attributes.String("mode", "linear");
  if (mode == "linear") node.attributes.Set("mode", "bilinear");
  if (mode == "cubic") node.attributes.Set("mode", "bicubic");
  return absl::OkStatus();
}

absl::Status DftAxisToAttribute(Graph& graph, NodeId id) {
  Node& node = GraphEdit(graph).node(id);
  const ValueId axis = InputOf(node, 2);
  const auto number = axis.valid() ? ScalarValue(graph, axis) : std::optional<double>(-2);
  if (!number)
    return absl::UnimplementedError("its `axis` is computed, but is an attribute in that opset");
  int64_t counted = static_cast<int64_t>(*number);
  if (counted < 0) {
    const int rank = RankOf(graph, node.inputs[0]);
    if (rank < 0) return absl::UnimplementedError("its axis is negative and the rank is not known");
    counted += rank;
  }
  node.attributes.Set("axis", counted);
  DropTrailingInputs(graph, id, 2);
  return absl::OkStatus();
}

absl::Status RoiAlignPixels(Graph& graph, NodeId id) {
  Node& node = GraphEdit(graph).node(id);
  if (node.attributes.String("coordinate_transformation_mode", "half_pixel") != "output_half_pixel")
    return absl::UnimplementedError(
        "that opset has only coordinate_transformation_mode output_half_pixel");
  node.attributes.Erase("coordinate_transformation_mode");
  return absl::OkStatus();
}

// Before opset 13 the dims from the axis on counted as one.
absl::Status AlongLastAxis(Graph& graph, NodeId id) {
  Node& node = GraphEdit(graph).node(id);
  const int64_t axis = node.attributes.Int("axis", -1);
  if (axis != -1 && axis != RankOf(graph, node.inputs[0]) - 1)
    return absl::UnimplementedError(
        absl::StrCat("its axis ", axis, " is not the last one, which that opset needs"));
  node.attributes.Set("axis", int64_t{-1});
  return absl::OkStatus();
}

// Opset 11 wanted all inputs, empty ones where they are not needed.
absl::Status ResizeEmptyInputs(Graph& graph, NodeId id) {
  Node& node = GraphEdit(graph).node(id);
  while (node.inputs.size() < 3) node.inputs.emplace_back();
  for (int i = 1; i <= 2; ++i) {
    if (node.inputs[static_cast<size_t>(i)].valid()) continue;
    const std::string name = graph.UniqueName(i == 1 ? "empty_roi" : "empty_scales");
    GraphEdit(graph).SetInput(id, i,
                              GraphEdit(graph).AddConstant(name, Tensor(DType::kFloat32, Dims{0})));
  }
  return absl::OkStatus();
}

// Before opset 15 a part of a shape was a Slice of it.
absl::Status ShapeThenSlice(Graph& graph, NodeId id) {
  GraphEdit edit(graph);
  Attributes& attributes = edit.node(id).attributes;
  if (!attributes.Has("start") && !attributes.Has("end")) return absl::OkStatus();
  const int64_t start = attributes.Int("start", 0);
  const int64_t end = attributes.Int("end", std::numeric_limits<int64_t>::max());
  attributes.Erase("start");
  attributes.Erase("end");
  const ValueId part = graph.node(id).outputs[0];
  Node whole = std::move(edit.node(id));
  edit.node(id).inputs = whole.inputs;
  edit.node(id).outputs = whole.outputs;
  edit.RemoveNode(id);
  const int rank = RankOf(graph, whole.inputs[0]);
  const std::string name = graph.value(part).name;
  const auto one = [&](std::string_view role, int64_t value) {
    return edit.AddConstant(graph.UniqueName(absl::StrCat(name, "/", std::string(role))),
                            Tensor::Of<int64_t>({1}, {value}));
  };
  whole.outputs[0] = edit.AddValue(
      graph.UniqueName(absl::StrCat(name, "/shape")),
      rank < 0 ? Type::Tensor(DType::kInt64) : Type::Tensor(DType::kInt64, Dims{rank}));
  Node slice;
  slice.op_type = "Slice";
  slice.name = absl::StrCat(name, "/Slice");
  slice.schema = FindSchema("Slice", "");
  slice.inputs = {whole.outputs[0], one("start", start), one("end", end), one("axis", 0)};
  slice.outputs = {part};
  edit.AddNode(std::move(whole));
  edit.AddNode(std::move(slice));
  return absl::OkStatus();
}

// Before opset 14 a zero always copied a dim.
absl::Status ReshapeWithoutZeros(Graph& graph, NodeId id) {
  Attributes& attributes = GraphEdit(graph).node(id).attributes;
  if (attributes.Int("allowzero", 0) != 0) {
    const Node& node = graph.node(id);
    const auto dims = IntElements(graph, node.inputs[1]);
    const auto result = graph.type(node.outputs[0]).static_dims();
    const bool none = dims ? std::count(dims->begin(), dims->end(), 0) == 0
                           : result && std::count(result->begin(), result->end(), 0) == 0;
    if (!none)
      return absl::UnimplementedError("with allowzero a size of 0, which may come up, was a copy");
  }
  attributes.Erase("allowzero");
  return absl::OkStatus();
}

constexpr LowerRule kRules[] = {
    {"BatchNormalization", 14, NoTrainingMode},
    {"DFT", 20, DftAxisToAttribute},
    {"Dropout", 12, DropoutRatioToAttribute},
    {"GridSample", 20, GridSampleModes},
    {"Hardmax", 13, AlongLastAxis},
    {"LogSoftmax", 13, AlongLastAxis},
    {"ReduceL1", 18, ReducedAxesToAttribute},
    {"ReduceL2", 18, ReducedAxesToAttribute},
    {"ReduceLogSum", 18, ReducedAxesToAttribute},
    {"ReduceLogSumExp", 18, ReducedAxesToAttribute},
    {"ReduceMax", 18, ReducedAxesToAttribute},
    {"ReduceMean", 18, ReducedAxesToAttribute},
    {"ReduceMin", 18, ReducedAxesToAttribute},
    {"ReduceProd", 18, ReducedAxesToAttribute},
    {"ReduceSum", 13, ReducedAxesToAttribute},
    {"ReduceSumSquare", 18, ReducedAxesToAttribute},
    {"Reshape", 14, ReshapeWithoutZeros},
    {"Resize", 13, ResizeEmptyInputs},
    {"RoiAlign", 16, RoiAlignPixels},
    {"Shape", 15, ShapeThenSlice},
    {"Softmax", 13, AlongLastAxis},
    {"Split", 13, SplitLengthsToAttribute},
    {"Split", 18, SplitEqually},
    {"Squeeze", 13, AxesToAttribute},
    {"Unsqueeze", 13, AxesToAttribute},
};

}  // namespace

const LowerRule* FindLowerRule(std::string_view op, int64_t until) {
  const auto* it = std::find_if(std::begin(kRules), std::end(kRules), [&](const LowerRule& rule) {
    return rule.op == op && rule.until == until;
  });
  return it == std::end(kRules) ? nullptr : it;
}

}  // namespace onward::onnx_io
