#include "graph/infer/elements.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "graph/infer/type_proto.h"

namespace onward {
namespace {

std::optional<SymbolicDims> ConstantElements(const Tensor& tensor) {
  if (tensor.num_elements() > kMaxInferredElements || tensor.raw_data() == nullptr) {
    return std::nullopt;
  }
  SymbolicDims elements;
  bool integral = true;
  DispatchDType(Concat<NumericTypes, TypeList<bool>>(), tensor.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (const T& element : tensor.span<T>()) {
      if constexpr (std::is_integral_v<T>) {
        elements.push_back(NumberDim(static_cast<int64_t>(element)));
      } else {
        const auto value = static_cast<double>(element);
        // Beyond 2^53 doubles are no longer whole numbers one apart.
        integral &= value == std::floor(value) && std::fabs(value) < 9e15;
        elements.push_back(integral ? NumberDim(static_cast<int64_t>(value)) : Dim());
      }
    }
  });
  if (!integral || static_cast<int64_t>(elements.size()) != tensor.num_elements()) {
    return std::nullopt;
  }
  return elements;
}

using Known = std::optional<SymbolicDims>;

// What an element rule sees of its node.
struct ElementScope {
  const Graph& graph;
  const Node& node;
  const KnownElements& known;

  Known Elements(size_t input) const {
    if (input >= node.inputs.size() || !node.inputs[input].valid()) return std::nullopt;
    return ElementsOf(graph, node.inputs[input], known);
  }
  const Type& InputType(size_t input) const { return graph.type(node.inputs[input]); }
};

struct ElementRule {
  std::string_view op;
  Known (*propagate)(const ElementScope& scope);
};

Known Shape(const ElementScope& scope) {
  const Type& type = scope.InputType(0);
  if (!type.shape) return std::nullopt;
  const auto rank = static_cast<int64_t>(type.shape->size());
  const auto clamp = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const int64_t start = clamp(scope.node.attributes.Int("start", 0));
  const int64_t end = std::max(start, clamp(scope.node.attributes.Int("end", rank)));
  return SymbolicDims(type.shape->begin() + start, type.shape->begin() + end);
}

Known Size(const ElementScope& scope) {
  const Type& type = scope.InputType(0);
  if (!type.shape) return std::nullopt;
  return SymbolicDims{DimProduct(*type.shape, 0, type.shape->size())};
}

constexpr ElementRule kRules[] = {
    {"Shape", Shape},
    {"Size", Size},
};

}  // namespace

std::optional<SymbolicDims> ElementsOf(const Graph& graph, ValueId id, const KnownElements& known) {
  if (!id.valid()) return std::nullopt;
  if (const Tensor* constant = graph.constant(id)) {
    // A graph input's constant is only its default.
    return graph.is_input(id) ? std::nullopt : ConstantElements(*constant);
  }
  const auto it = known.find(id.index);
  return it == known.end() ? std::nullopt : Known(it->second);
}

void PropagateElements(const Graph& graph, NodeId id, KnownElements& known) {
  const Node& node = graph.node(id);
  if (!node.domain.empty()) return;
  for (const ElementRule& rule : kRules) {
    if (rule.op != node.op_type) continue;
    Known elements = rule.propagate({graph, node, known});
    if (elements) known[node.outputs[0].index] = *std::move(elements);
    return;
  }
}

}  // namespace onward
