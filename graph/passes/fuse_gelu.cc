// Gelu from its parts: x * 0.5 * (1 + erf(x / sqrt(2))) and the tanh approximation, in the orders
// of multiplication that exporters write.
#include <cmath>

#include "graph/passes/passes.h"
#include "graph/rewrite/match.h"

namespace onward {

namespace {

// The factors of a product of two or three, looking through a product that is read once.
std::vector<ValueId> Factors(const Graph& graph, const Node& node, bool first_nested) {
  const ValueId nested = node.inputs[first_nested ? 0 : 1];
  const ValueId other = node.inputs[first_nested ? 1 : 0];
  const Node* product = MadeBy(graph, nested, "Mul");
  if (product == nullptr || !ReadOnce(graph, nested)) return {};
  return {other, product->inputs[0], product->inputs[1]};
}

// x when `value` is x / sqrt(2) or x * sqrt(1/2).
ValueId OverRootTwo(const Graph& graph, ValueId value) {
  const Node* division = MadeBy(graph, value, "Div");
  if (division != nullptr) {
    const bool matches = IsScalar(graph, division->inputs[1], std::sqrt(2.0)) &&
                         RankOf(graph, division->inputs[1]) <= 1;
    return matches ? division->inputs[0] : ValueId();
  }
  return BesideScalar(graph, value, "Mul", std::sqrt(0.5));
}

// x when `value` is x * x * x in some form.
ValueId Cubed(const Graph& graph, ValueId value) {
  if (const Node* power = MadeBy(graph, value, "Pow")) {
    return ScalarValue(graph, power->inputs[1]) == 3.0 ? power->inputs[0] : ValueId();
  }
  const Node* product = MadeBy(graph, value, "Mul");
  if (product == nullptr) return {};
  for (size_t i = 0; i < 2; ++i) {
    const ValueId x = product->inputs[i];
    const Node* square = MadeBy(graph, product->inputs[1 - i], "Mul");
    if (square != nullptr && square->inputs[0] == x && square->inputs[1] == x) return x;
  }
  return {};
}

// Returns whether `value` is 0.044715 * x * x in some order.
bool IsScaledSquare(const Graph& graph, ValueId value, ValueId x) {
  const Node* product = MadeBy(graph, value, "Mul");
  if (product == nullptr) return false;
  for (size_t i = 0; i < 2; ++i) {
    if (product->inputs[i] == x &&
        BesideScalar(graph, product->inputs[1 - i], "Mul", 0.044715) == x) {
      return true;
    }
  }
  const ValueId square = BesideScalar(graph, value, "Mul", 0.044715);
  const Node* inner = square.valid() ? MadeBy(graph, square, "Mul") : nullptr;
  return inner != nullptr && inner->inputs[0] == x && inner->inputs[1] == x;
}

// Returns whether `value` is x + 0.044715 x^3 or x * (1 + 0.044715 x^2).
bool IsCubic(const Graph& graph, ValueId value, ValueId x) {
  if (const Node* sum = MadeBy(graph, value, "Add")) {
    const ValueId term = OtherInput(*sum, x);
    if (!term.valid()) return false;
    const ValueId cube = BesideScalar(graph, term, "Mul", 0.044715);
    return cube.valid() && Cubed(graph, cube) == x;
  }
  const Node* product = MadeBy(graph, value, "Mul");
  if (product == nullptr) return false;
  const ValueId factor = OtherInput(*product, x);
  if (!factor.valid()) return false;
  const ValueId square = BesideScalar(graph, factor, "Add", 1.0);
  return square.valid() && IsScaledSquare(graph, square, x);
}

// "none" or "tanh" when `value` is 1 + erf(x / sqrt(2)) or 1 + tanh(sqrt(2/pi) (x + ...)).
std::string_view GateOf(const Graph& graph, ValueId value, ValueId x) {
  const ValueId inner = BesideScalar(graph, value, "Add", 1.0);
  if (!inner.valid() || !ReadOnce(graph, value)) return "";
  if (const Node* erf = MadeBy(graph, inner, "Erf")) {
    return OverRootTwo(graph, erf->inputs[0]) == x ? "none" : "";
  }
  const Node* tanh = MadeBy(graph, inner, "Tanh");
  if (tanh == nullptr) return "";
  const ValueId cubic =
      BesideScalar(graph, tanh->inputs[0], "Mul", std::sqrt(2.0 / 3.14159265358979323846));
  if (cubic.valid()) return IsCubic(graph, cubic, x) ? "tanh" : "";
  // sqrt(2/pi) * x * (1 + 0.044715 x^2) with the first two multiplied first.
  const Node* product = MadeBy(graph, tanh->inputs[0], "Mul");
  for (size_t i = 0; product != nullptr && i < 2; ++i) {
    const ValueId square = BesideScalar(graph, product->inputs[1 - i], "Add", 1.0);
    if (square.valid() && IsScaledSquare(graph, square, x) &&
        BesideScalar(graph, product->inputs[i], "Mul", std::sqrt(2.0 / 3.14159265358979323846)) ==
            x) {
      return "tanh";
    }
  }
  return "";
}

std::optional<Patch> ToGelu(const Graph& graph, const Node& node, ValueId x,
                            std::string_view approximate) {
  if (!IsFloating(graph.type(x).dtype) ||
      !graph.type(x).CompatibleWith(graph.type(node.outputs[0]))) {
    return std::nullopt;
  }
  Patch patch(graph);
  patch.Replace(node.outputs[0],
                patch.AddNode("Gelu", {x}, {{"approximate", std::string(approximate)}}));
  return patch;
}

std::optional<Patch> Gelu(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  for (const bool first : {true, false}) {
    const std::vector<ValueId> factors = Factors(graph, node, first);
    if (factors.empty()) continue;
    for (size_t half = 0; half < 3; ++half) {
      if (!IsScalar(graph, factors[half], 0.5)) continue;
      const ValueId a = factors[(half + 1) % 3], b = factors[(half + 2) % 3];
      for (const auto& [x, gate] : {std::pair(a, b), std::pair(b, a)}) {
        const std::string_view kind = GateOf(graph, gate, x);
        if (!kind.empty()) return ToGelu(graph, node, x, kind);
      }
    }
  }
  return std::nullopt;
}

constexpr Rule kRules[] = {{"fuse_gelu", "Mul", Gelu}};

}  // namespace

absl::StatusOr<int> FuseGelu(Graph& graph, const PassOptions&, int& budget) {
  return ApplyRules(graph, kRules, budget);
}

}  // namespace onward
