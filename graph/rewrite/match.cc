#include "graph/rewrite/match.h"

#include <algorithm>
#include <cmath>

#include "graph/ops/facts.h"
#include "onnx/defs/schema.h"

namespace onward {

const Tensor* FixedConstant(const Graph& graph, ValueId id) {
  const Tensor* constant = graph.constant(id);
  if (constant == nullptr || graph.is_input(id)) return nullptr;
  return constant->raw_data() == nullptr && constant->num_elements() > 0 ? nullptr : constant;
}

const Node* MadeBy(const Graph& graph, ValueId value, std::string_view op) {
  const NodeId maker = Maker(graph, value);
  if (!maker.valid() || graph.value(value).producer_output != 0) return nullptr;
  const Node& node = graph.node(maker);
  return node.Is(op) ? &node : nullptr;
}

bool ReadOnce(const Graph& graph, ValueId value) {
  return graph.users(value).size() == 1 && !graph.is_output(value);
}

NodeId OnlyReader(const Graph& graph, ValueId value) {
  return ReadOnce(graph, value) ? graph.users(value)[0] : NodeId();
}

int NumInputs(const Node& node) {
  int count = static_cast<int>(node.inputs.size());
  while (count > 0 && !node.inputs[static_cast<size_t>(count - 1)].valid()) --count;
  return count;
}

std::optional<double> ScalarValue(const Graph& graph, ValueId id) {
  const Tensor* constant = FixedConstant(graph, id);
  if (constant == nullptr || constant->num_elements() != 1) return std::nullopt;
  std::optional<double> result;
  using Types = Concat<NumericTypes, TypeList<bool>>;
  DispatchDType(Types(), constant->dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>) {
      result = static_cast<double>(static_cast<float>(*constant->data<T>()));
    } else {
      result = static_cast<double>(*constant->data<T>());
    }
  });
  return result;
}

std::optional<std::vector<int64_t>> IntElements(const Graph& graph, ValueId id) {
  const Tensor* constant = FixedConstant(graph, id);
  if (constant == nullptr || constant->rank() > 1) return std::nullopt;
  if (constant->dtype() != DType::kInt64 && constant->dtype() != DType::kInt32) return std::nullopt;
  return ToInt64(constant->view());
}

std::optional<WithScalar> SplitScalar(const Graph& graph, const Node& node) {
  if (node.inputs.size() != 2) return std::nullopt;
  for (int i = 0; i < 2; ++i) {
    const ValueId scalar = node.inputs[static_cast<size_t>(1 - i)];
    const ValueId other = node.inputs[static_cast<size_t>(i)];
    const std::optional<double> value = ScalarValue(graph, scalar);
    if (!value) continue;
    const int scalar_rank = RankOf(graph, scalar);
    if (scalar_rank > 0 && scalar_rank > RankOf(graph, other)) continue;
    return WithScalar{other, *value};
  }
  return std::nullopt;
}

bool IsNear(double value, double expected, DType dtype) {
  double tolerance = 1e-5;
  if (dtype == DType::kFloat16) tolerance = 1e-3;
  if (dtype == DType::kBFloat16) tolerance = 8e-3;
  return std::fabs(value - expected) <= tolerance * std::fabs(expected);
}

bool IsScalar(const Graph& graph, ValueId id, double expected) {
  const std::optional<double> value = ScalarValue(graph, id);
  return value && IsNear(*value, expected, graph.type(id).dtype);
}

ValueId BesideScalar(const Graph& graph, ValueId value, std::string_view op, double expected) {
  const Node* node = MadeBy(graph, value, op);
  if (node == nullptr) return {};
  const std::optional<WithScalar> split = SplitScalar(graph, *node);
  if (!split || !IsNear(split->scalar, expected, graph.type(value).dtype)) return {};
  return split->other;
}

ValueId OtherInput(const Node& node, ValueId operand) {
  if (node.inputs.size() != 2 || node.inputs[0] == node.inputs[1]) return {};
  if (node.inputs[0] == operand) return node.inputs[1];
  return node.inputs[1] == operand ? node.inputs[0] : ValueId();
}

int RankOf(const Graph& graph, ValueId id) {
  if (!id.valid()) return -1;
  const Type& type = graph.type(id);
  return type.is_tensor() && type.shape ? static_cast<int>(type.shape->size()) : -1;
}

std::vector<int64_t> PermOf(const Graph& graph, const Node& transpose) {
  std::vector<int64_t> perm = transpose.attributes.Ints("perm");
  if (!perm.empty()) return perm;
  for (int64_t d = RankOf(graph, transpose.inputs[0]); d > 0; --d) perm.push_back(d - 1);
  return perm;
}

bool SameShape(const Type& a, const Type& b) {
  if (!a.is_tensor() || !b.is_tensor() || !a.shape || !b.shape) return false;
  return std::equal(a.shape->begin(), a.shape->end(), b.shape->begin(), b.shape->end(),
                    [](const Dim& x, const Dim& y) { return x.SameAs(y); });
}

ValueId BeforeCast(const Graph& graph, ValueId value) {
  const Node* cast = MadeBy(graph, value, "Cast");
  return cast == nullptr ? ValueId() : cast->inputs[0];
}

bool IsRandom(const Node& node) {
  if (node.schema != nullptr &&
      node.schema->GetNodeDeterminism() == onnx::OpSchema::NodeDeterminism::NonDeterministic) {
    return true;
  }
  if (node.Is("Dropout")) {
    return InputOf(node, 2).valid();  // may be in training mode
  }
  const OpFacts* facts = FindFacts(node.op_type, node.domain);
  return facts != nullptr && facts->random;
}

}  // namespace onward
