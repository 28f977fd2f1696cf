#include "quantization/half_floats.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/ir/graph_edit.h"
#include "graph/ops/facts.h"
#include "graph/passes/pass.h"
#include "graph/rewrite/add_cast.h"
#include "graph/rewrite/autocast.h"
#include "graph/rewrite/match.h"
#include "onward/status.h"
#include "quantization/products.h"

namespace onward::quantization {
namespace {

constexpr float kLargestFloat16 = 65504;
constexpr float kSmallestNormalFloat16 = 0x1p-14f;
// Smaller tensors gain nothing by being stored in 16 bits.
constexpr int64_t kLeastStored = 64;

template <typename To>
Tensor Rounded(const Tensor& from, DType dtype) {
  Tensor to(dtype, from.dims());
  const auto elements = from.span<float>();
  for (size_t i = 0; i < elements.size(); ++i) to.mutable_data<To>()[i] = To(elements[i]);
  return to;
}

Tensor Rounded(const Tensor& from, DType dtype) {
  return dtype == DType::kFloat16 ? Rounded<Float16>(from, dtype) : Rounded<BFloat16>(from, dtype);
}

bool IsFloat32(const Graph& graph, ValueId id) {
  const Type& type = graph.type(id);
  return type.is_tensor() && type.dtype == DType::kFloat32;
}

// `data` under the name of `from`, which nothing names any more, for the readers of `to_replace`.
void PutInPlaceOf(Graph& graph, ValueId from, ValueId to_replace, Tensor data) {
  GraphEdit edit(graph);
  const std::string name = graph.value(from).name;
  std::string own = name;
  if (graph.users(from).size() > 1 || graph.is_output(from))
    own = graph.UniqueName(absl::StrCat(name, "_", std::string(DTypeName(data.dtype()))));
  else
    edit.Rename(from, graph.UniqueName(absl::StrCat(name, "/replaced")));
  const ValueId to = edit.AddConstant(own, std::move(data));
  edit.doc_string(to) = graph.value(from).doc_string;
  edit.metadata(to) = graph.value(from).metadata;
  edit.ReplaceUses(to_replace, to);
}

// Casts of constants become constants.
int RoundConstants(Graph& graph, DType dtype) {
  int count = 0;
  for (const NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    for (const Subgraph& body : node.subgraphs) count += RoundConstants(*body.graph, dtype);
    if (!node.Is("Cast") || graph.type(node.outputs[0]).dtype != dtype) continue;
    const ValueId from = node.inputs[0], to = node.outputs[0];
    const Tensor* data = FixedConstant(graph, from);
    if (data == nullptr || data->dtype() != DType::kFloat32 || graph.is_output(to)) continue;
    PutInPlaceOf(graph, from, to, Rounded(*data, dtype));
    GraphEdit(graph).RemoveNode(id);
    if (graph.users(from).empty() && !graph.is_output(from))
      GraphEdit(graph).constant(from).reset();
    ++count;
  }
  return count;
}

// Weights of `dtype` behind a Cast each.
int StoreConstants(Graph& graph, DType dtype) {
  int count = 0;
  for (const NodeId id : graph.node_ids()) {
    for (const Subgraph& body : graph.node(id).subgraphs)
      count += StoreConstants(*body.graph, dtype);
  }
  const int num_values = graph.num_values();
  for (int i = 0; i < num_values; ++i) {
    const ValueId from{i};
    if (FixedConstant(graph, from) == nullptr || graph.is_output(from)) continue;
    const Tensor data = *graph.constant(from);  // values move when one is added
    if (data.dtype() != DType::kFloat32 || graph.users(from).empty()) continue;
    if (data.rank() < 2 || data.num_elements() < kLeastStored) continue;
    if (dtype == DType::kFloat16 && !FitsFloat16(data)) continue;
    GraphEdit edit(graph);
    const Type type = graph.type(from);
    const std::string name = graph.value(from).name;
    const ValueId wide = edit.AddValue(graph.UniqueName(absl::StrCat(name, "_float32")), type);
    edit.ReplaceUses(from, wide);
    edit.constant(from) = Rounded(data, dtype);
    edit.type(from).dtype = dtype;
    AddCast(graph, from, wide, "half_floats");
    ++count;
  }
  return count;
}

class Islands {
 public:
  Islands(const HalfFloatOptions& options, int& count) : options_(options), count_(count) {}

  bool operator()(const Graph& graph, NodeId id) const {
    const Node& node = graph.node(id);
    const OpFacts* facts = FindFacts(node.op_type, node.domain);
    if (facts == nullptr || facts->autocast == AutocastClass::kFull) return false;
    if (IsQuantized(node)) return true;  // few runtimes take 16-bit floats there
    const auto leaves = [&](ValueId value) {
      if (!value.valid() || !IsFloat32(graph, value)) return false;
      if (const Tensor* constant = FixedConstant(graph, value); constant != nullptr)
        return options_.dtype == DType::kFloat16 && !FitsFloat16(*constant);
      return options_.overflows != nullptr && options_.overflows(graph.value(value).name);
    };
    const bool stays = std::any_of(node.inputs.begin(), node.inputs.end(), leaves) ||
                       std::any_of(node.outputs.begin(), node.outputs.end(), leaves);
    count_ += stays ? 1 : 0;
    return stays;
  }

 private:
  const HalfFloatOptions& options_;
  int& count_;
};

// The input itself has `dtype`; who reads it in float32 reads a Cast.
void ConvertInput(Graph& graph, ValueId input, DType dtype) {
  GraphEdit edit(graph);
  const Type wide_type = graph.type(input);
  const ValueId wide =
      edit.AddValue(graph.UniqueName(absl::StrCat(graph.value(input).name, "_float32")), wide_type);
  edit.ReplaceUses(input, wide);
  edit.type(input).dtype = dtype;
  if (edit.constant(input)) edit.constant(input) = Rounded(*edit.constant(input), dtype);
  for (const NodeId id : std::vector<NodeId>(graph.users(wide))) {
    const Node& node = graph.node(id);
    if (!node.Is("Cast") || graph.type(node.outputs[0]).dtype != dtype) continue;
    if (graph.is_output(node.outputs[0])) continue;
    edit.ReplaceUses(node.outputs[0], input);
    edit.RemoveNode(id);
  }
  if (!graph.users(wide).empty() || graph.is_output(wide))
    AddCast(graph, input, wide, "half_floats");
}

void ConvertOutput(Graph& graph, int index, DType dtype) {
  GraphEdit edit(graph);
  const ValueId wide = graph.outputs()[static_cast<size_t>(index)];
  const std::string name = graph.value(wide).name;
  edit.Rename(wide, graph.UniqueName(absl::StrCat(name, "_float32")));
  Type type = graph.type(wide);
  type.dtype = dtype;
  const ValueId output = edit.AddValue(name, type);
  const NodeId maker = graph.value(wide).producer;
  ValueId from = wide;
  if (maker.valid() && graph.node(maker).Is("Cast") &&
      graph.type(graph.node(maker).inputs[0]).dtype == dtype)
    from = graph.node(maker).inputs[0];
  edit.SetOutput(index, output);
  if (from == wide || graph.is_input(from) || graph.is_constant(from) || graph.is_output(from)) {
    AddCast(graph, from, output, "half_floats");
  } else {  // the value itself takes the name
    edit.MoveName(output, from, "/replaced");
    edit.SetOutput(index, from);
  }
  if (maker.valid() && from != wide && graph.users(wide).empty() && !graph.is_output(wide))
    edit.RemoveNode(maker);
}

absl::Status ConvertBorder(Model& model, DType dtype) {
  if (!model.updates.empty())
    return absl::UnimplementedError(
        "the model binds outputs to inputs, and a conversion would make their element types "
        "differ; leave its inputs and outputs float32");
  Graph& graph = model.graph;
  for (const ValueId input : std::vector<ValueId>(graph.inputs()))
    if (IsFloat32(graph, input) && !graph.is_output(input)) ConvertInput(graph, input, dtype);
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const ValueId output = graph.outputs()[i];
    if (IsFloat32(graph, output) && !graph.is_input(output))
      ConvertOutput(graph, static_cast<int>(i), dtype);
  }
  return absl::OkStatus();
}

}  // namespace

bool FitsFloat16(const Tensor& constant) {
  float largest = 0;
  for (const float element : constant.span<float>()) {
    if (std::isfinite(element)) largest = std::max(largest, std::abs(element));
  }
  return largest <= kLargestFloat16 && (largest == 0 || largest >= kSmallestNormalFloat16);
}

absl::StatusOr<HalfFloatReport> ConvertToHalfFloats(Model& model, const HalfFloatOptions& options) {
  HalfFloatReport report;
  if (options.arithmetic) {
    AutocastOptions autocast;
    autocast.dtype = options.dtype;
    autocast.stays = Islands(options, report.islands);
    autocast.constants_follow = true;
    int budget = PatchBudget(-1);
    const int before = budget;
    ONWARD_RETURN_IF_ERROR(Autocast(model, autocast, budget));
    report.lowered = before - budget;
    report.weights = RoundConstants(model.graph, options.dtype);
  } else {
    report.weights = StoreConstants(model.graph, options.dtype);
  }
  if (options.convert_io) ONWARD_RETURN_IF_ERROR(ConvertBorder(model, options.dtype));
  return report;
}

}  // namespace onward::quantization
