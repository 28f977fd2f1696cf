#include "onnx_io/expand_functions.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "graph/builder/formula_schema.h"
#include "graph/infer/infer.h"
#include "graph/ir/graph_edit.h"
#include "onnx_io/schema_body.h"
#include "onnx_io/upgrade/upgrade.h"
#include "onward/functions.h"
#include "onward/status.h"

namespace onward::onnx_io {
namespace {

// Bodies of bodies of bodies: the standard's are three deep.
constexpr int kMaxRounds = 16;

// The standard's body of CenterCropPad computes with an int64 shape alone; its schema allows int32.
absl::Status WidenShape(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!node.Is("CenterCropPad")) return absl::OkStatus();
  const ValueId shape = node.inputs[1];
  if (graph.type(shape).dtype != DType::kInt32) return absl::OkStatus();
  expr::GraphSink sink(graph);
  GraphEdit(graph).SetInput(id, 1, expr::Cast(sink.Value(shape), DType::kInt64).id());
  return sink.status();
}

// The standard's body of Attention takes roots of the scale in float32, for doubles too: queries
// that are scaled before have their own precision.
absl::Status ScaleInDouble(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!node.Is("Attention")) return absl::OkStatus();
  const ValueId q = node.inputs[0];
  const float given = node.attributes.Float("scale", 0);  // 0: by the size of heads
  if (graph.type(q).dtype != DType::kFloat64 || !graph.type(q).shape.has_value() || given == 1)
    return absl::OkStatus();
  const auto rank = static_cast<int64_t>(graph.type(q).shape->size());
  const int64_t heads = rank == 3 ? node.attributes.Int("q_num_heads", 1) : 1;
  expr::GraphSink sink(graph);
  const expr::Expr queries = sink.Value(q);
  expr::Expr scaled;
  if (given == 0) {
    const expr::Expr size = expr::Cast(expr::Shape(queries, rank - 1, rank), DType::kFloat64);
    scaled = queries / expr::Sqrt(size / static_cast<double>(heads));
  } else {
    scaled = queries * static_cast<double>(given);
  }
  ONWARD_RETURN_IF_ERROR(sink.status());
  GraphEdit(graph).SetInput(id, 0, scaled.id());
  GraphEdit(graph).node(id).attributes.Set("scale", 1.0f);
  return absl::OkStatus();
}

// The standard's body of Attention shapes keys and values by the sizes that it has computed.
// Without keys there is a 0 among them, which Reshape reads as "as before", which is 1.
void TakeZeroKeys(onnx::FunctionProto& body) {
  for (onnx::NodeProto& node : *body.mutable_node()) {
    if (node.op_type() != "Reshape") continue;
    if (node.input(1) != "KAttentionShape" && node.input(1) != "VAttentionShape") continue;
    onnx::AttributeProto* attribute = node.add_attribute();
    attribute->set_name("allowzero");
    attribute->set_type(onnx::AttributeProto::INT);
    attribute->set_i(1);
  }
}

// The standard's bodies of LayerNormalization and GroupNormalization take the variance as the mean
// of squares less the square of the mean, which loses its digits where the mean is large: the
// variance becomes the mean of the squared deviations, which the body has too.
void SquareDeviations(onnx::FunctionProto& body) {
  auto& nodes = *body.mutable_node();
  const auto maker_of = [&](std::string_view output) {
    return std::find_if(nodes.begin(), nodes.end(),
                        [&](const onnx::NodeProto& node) { return node.output(0) == output; });
  };
  if (maker_of("SquareOfMean") == nodes.end()) return;
  onnx::NodeProto& variance = *maker_of("Var");
  variance.set_op_type("Identity");
  variance.clear_input();
  variance.add_input("MeanOfSquare");
  for (std::string& input : *maker_of("Square")->mutable_input()) input = "Deviation";
  // Makers stand before readers.
  const auto square = maker_of("Square"), deviation = maker_of("Deviation");
  std::rotate(square, deviation, deviation + 1);
  nodes.erase(maker_of("SquareOfMean"));
}

// Replaces the node by its body, if it has one.
absl::StatusOr<bool> ExpandNode(Graph& graph, NodeId id, GraphFrame& frame) {
  ONWARD_ASSIGN_OR_RETURN(std::optional<SchemaBody> body, BodyOf(graph, id));
  if (!body) return false;
  if (graph.node(id).Is("Attention")) TakeZeroKeys(body->function);
  for (const char* op : {"LayerNormalization", "GroupNormalization"})
    if (graph.node(id).Is(op)) SquareDeviations(body->function);
  const std::string where = graph.Describe(id);
  const std::vector<ValueId> inputs = graph.node(id).inputs;
  const std::vector<ValueId> outputs = graph.node(id).outputs;
  const std::string own =
      graph.node(id).name.empty() ? graph.node(id).op_type : graph.node(id).name;
  GraphEdit(graph).RemoveNode(id);
  const int first = graph.num_nodes();
  const absl::Status added = AddBody(*body, inputs, outputs, own + "/", frame);
  if (!added.ok()) return Annotate(added, where + " in its function body:");
  for (int i = first; i < graph.num_nodes(); ++i) {
    GraphEdit(graph).node({i}).origin = "expand_functions @ " + where;
  }
  return true;
}

}  // namespace

absl::Status ExpandFunctions(Graph& graph,
                             const std::function<bool(const Graph&, NodeId)>& has_kernel) {
  int first = 0;  // nodes before it are done
  for (int round = 0;; ++round) {
    const int end = graph.num_nodes();
    for (int i = first; i < end; ++i) {
      if (!graph.alive({i}) || has_kernel(graph, {i})) continue;
      ONWARD_RETURN_IF_ERROR(WidenShape(graph, {i}));
      ONWARD_RETURN_IF_ERROR(ScaleInDouble(graph, {i}));
      ONWARD_RETURN_IF_ERROR(ExpandFormula(graph, {i}).status());
    }
    GraphFrame frame;
    for (int i = first; i < end; ++i) {
      if (!graph.alive({i}) || has_kernel(graph, {i})) continue;
      if (frame.graph == nullptr) frame = FrameOf(graph);
      ONWARD_RETURN_IF_ERROR(ExpandNode(graph, {i}, frame).status());
    }
    if (graph.num_nodes() == end) break;
    if (round == kMaxRounds) return absl::InternalError("function bodies contain each other");
    ONWARD_RETURN_IF_ERROR(UpgradeGraph(graph).status());
    ONWARD_RETURN_IF_ERROR(InferGraph(graph));
    first = end;
  }
  for (const NodeId id : graph.node_ids()) {
    for (const Subgraph& subgraph : graph.node(id).subgraphs) {
      ONWARD_RETURN_IF_ERROR(ExpandFunctions(*subgraph.graph, has_kernel));
    }
  }
  return absl::OkStatus();
}

}  // namespace onward::onnx_io
