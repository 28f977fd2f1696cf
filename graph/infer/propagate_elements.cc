#include "graph/infer/propagate_elements.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "graph/base/checked.h"
#include "graph/infer/element_rules.h"
#include "graph/infer/scope.h"
#include "graph/infer/type_proto.h"

namespace onward {
namespace {

// These read types, not elements, or look further than their inputs.
constexpr std::string_view kReadOtherThings[] = {
    "Cast",           "Ceil",  "Floor", "SequenceConstruct",
    "SequenceInsert", "Shape", "Size",  "SplitToSequence",
    "Where"};

// Returns whether something is known of every input, so that a rule has a chance.
bool AllKnown(const Graph& graph, const Node& node, const KnownElements& known) {
  for (ValueId input : node.inputs) {
    if (!input.valid() || known.count(input.index) > 0) continue;
    const Tensor* constant = graph.constant(input);
    if (constant == nullptr || constant->num_elements() > kMaxInferredElements) return false;
  }
  return true;
}

// The largest magnitude below which the dtype holds every whole number; 0 for dtypes that elements
// are not tracked in.
int64_t ExactLimit(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return 1;
    case DType::kInt32:
      return (int64_t{1} << 31) - 1;
    case DType::kInt64:
      return std::numeric_limits<int64_t>::max();
    case DType::kFloat32:
      return int64_t{1} << 24;
    case DType::kFloat64:
      return int64_t{1} << 53;
    default:
      return 0;
  }
}

void Record(const Graph& graph, ValueId output, SymbolicDims elements, KnownElements& known) {
  if (graph.type(output).kind == Type::Kind::kSequence) {
    if (elements.size() == 1 && !elements[0].unknown()) known[output.index] = std::move(elements);
    return;
  }
  const std::optional<Dims> dims = graph.type(output).static_dims();
  const int64_t limit = ExactLimit(graph.type(output).dtype);
  if (!dims || limit == 0 || SaturatedNumElements(*dims) != static_cast<int64_t>(elements.size()) ||
      elements.size() > static_cast<size_t>(kMaxInferredElements)) {
    return;
  }
  bool any = elements.empty();
  for (Dim& element : elements) {
    const std::optional<int64_t> number = DimNumber(element);
    if (number && (*number > limit || *number < -limit)) element = Dim();
    any |= !element.unknown();
  }
  if (any) known[output.index] = std::move(elements);
}

const ElementRule* FindRule(std::string_view op) {
  for (const auto& rules :
       {ArithmeticElementRules(), LayoutElementRules(), SequenceElementRules()}) {
    for (const ElementRule& rule : rules) {
      if (rule.op == op) return &rule;
    }
  }
  return nullptr;
}

}  // namespace

void PropagateElements(const Graph& graph, NodeId id, KnownElements& known) {
  const Node& node = graph.node(id);
  if (!node.domain.empty()) return;
  const ElementRule* rule = FindRule(node.op_type);
  if (rule == nullptr) return;
  const auto* const end = std::end(kReadOtherThings);
  const bool reads_elements = std::find(std::begin(kReadOtherThings), end, node.op_type) == end;
  if (reads_elements && !AllKnown(graph, node, known)) return;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (!node.outputs[i].valid()) continue;
    std::optional<SymbolicDims> elements = rule->propagate({graph, node, known}, i);
    if (elements) Record(graph, node.outputs[i], *std::move(elements), known);
  }
}

}  // namespace onward
