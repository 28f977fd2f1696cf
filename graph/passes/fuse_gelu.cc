// Gelu from its parts: x * 0.5 * (1 + erf(x / sqrt(2))) and the tanh approximation, in whatever
// order exporters write their sums and products.
#include <array>
#include <cmath>

#include "graph/passes/passes.h"
#include "graph/rewrite/match.h"

namespace onward {

namespace {

constexpr int kDeepest = 8;  // nodes behind each other

// c[0] + c[1] x + c[2] x^2 + c[3] x^3.
using Cubic = std::array<double, 4>;

std::optional<Cubic> Product(const Cubic& a, const Cubic& b) {
  Cubic product = {};
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t j = 0; j < b.size(); ++j) {
      if (a[i] == 0 || b[j] == 0) continue;
      if (i + j >= product.size()) return std::nullopt;
      product[i + j] += a[i] * b[j];
    }
  }
  return product;
}

Cubic Sum(const Cubic& a, const Cubic& b, double factor) {
  Cubic sum = a;
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += factor * b[i];
  return sum;
}

// `value` where it is a polynomial in x of constants of one element.
std::optional<Cubic> CubicOf(const Graph& graph, ValueId value, ValueId x, int depth = 0) {
  if (value == x) return Cubic{0, 1, 0, 0};
  if (const auto number = ScalarValue(graph, value)) return Cubic{*number, 0, 0, 0};
  const NodeId maker = Maker(graph, value);
  if (!maker.valid() || depth == kDeepest) return std::nullopt;
  const Node& node = graph.node(maker);
  const auto of = [&](size_t input) { return CubicOf(graph, node.inputs[input], x, depth + 1); };
  if (node.Is("Pow")) {
    const auto base = of(0), exponent = of(1);
    if (!base || !exponent || (*exponent != Cubic{2} && *exponent != Cubic{3})) return std::nullopt;
    const auto square = Product(*base, *base);
    return square && *exponent == Cubic{3} ? Product(*square, *base) : square;
  }
  const bool adds = node.Is("Add"), subtracts = node.Is("Sub"), divides = node.Is("Div");
  if (!adds && !subtracts && !divides && !node.Is("Mul")) return std::nullopt;
  const auto a = of(0), b = of(1);
  if (!a || !b) return std::nullopt;
  if (adds || subtracts) return Sum(*a, *b, adds ? 1 : -1);
  if (!divides) return Product(*a, *b);
  if ((*b)[0] == 0 || *b != Cubic{(*b)[0]}) return std::nullopt;
  return Product(*a, Cubic{1 / (*b)[0]});
}

bool IsNear(const Cubic& value, const Cubic& expected, DType dtype) {
  for (size_t i = 0; i < value.size(); ++i)
    if (!IsNear(value[i], expected[i], dtype)) return false;
  return true;
}

// A product of numbers and other values.
struct Factors {
  double number = 1;
  std::vector<ValueId> values;
};

// Looks through products that are read once, and `root` of them.
void AddFactors(const Graph& graph, ValueId value, bool root, Factors& factors) {
  if (const auto number = ScalarValue(graph, value)) {
    factors.number *= *number;
    return;
  }
  const NodeId maker = Maker(graph, value);
  const bool looks = maker.valid() && (root || ReadOnce(graph, value));
  if (looks && graph.node(maker).Is("Mul")) {
    for (const ValueId input : graph.node(maker).inputs) AddFactors(graph, input, false, factors);
    return;
  }
  if (looks && graph.node(maker).Is("Div")) {
    const auto divisor = ScalarValue(graph, graph.node(maker).inputs[1]);
    if (divisor && *divisor != 0) {
      factors.number /= *divisor;
      return AddFactors(graph, graph.node(maker).inputs[0], false, factors);
    }
  }
  factors.values.push_back(value);
}

// weight * (1 + erf(x / sqrt(2))), or the same with tanh(sqrt(2/pi) (x + 0.044715 x^3)).
struct Gate {
  double weight = 0;
  std::string_view approximate;
};

std::optional<Gate> GateOf(const Graph& graph, ValueId value, ValueId x) {
  const Node* sum = MadeBy(graph, value, "Add");
  if (sum == nullptr || !ReadOnce(graph, value)) return std::nullopt;
  const auto split = SplitScalar(graph, *sum);
  if (!split) return std::nullopt;
  const DType dtype = graph.type(value).dtype;
  Factors term;
  AddFactors(graph, split->other, true, term);
  if (term.values.size() != 1 || !IsNear(term.number, split->scalar, dtype)) return std::nullopt;
  if (const Node* erf = MadeBy(graph, term.values[0], "Erf")) {
    const auto inner = CubicOf(graph, erf->inputs[0], x);
    if (!inner || !IsNear(*inner, {0, std::sqrt(0.5), 0, 0}, dtype)) return std::nullopt;
    return Gate{split->scalar, "none"};
  }
  const Node* tanh = MadeBy(graph, term.values[0], "Tanh");
  if (tanh == nullptr) return std::nullopt;
  const double slope = std::sqrt(2.0 / 3.14159265358979323846);
  const auto inner = CubicOf(graph, tanh->inputs[0], x);
  if (!inner || !IsNear(*inner, {0, slope, 0, 0.044715 * slope}, dtype)) return std::nullopt;
  return Gate{split->scalar, "tanh"};
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
  Factors factors;
  AddFactors(graph, node.outputs[0], true, factors);
  if (factors.values.size() != 2) return std::nullopt;
  for (const size_t i : {0, 1}) {
    const ValueId x = factors.values[i];
    const auto gate = GateOf(graph, factors.values[1 - i], x);
    if (gate && IsNear(factors.number * gate->weight, 0.5, graph.type(x).dtype))
      return ToGelu(graph, node, x, gate->approximate);
  }
  return std::nullopt;
}

constexpr Rule kRules[] = {{"fuse_gelu", "Mul", Gelu}, {"fuse_gelu", "Div", Gelu}};

}  // namespace

absl::StatusOr<int> FuseGelu(Graph& graph, const PassOptions&, int& budget) {
  return ApplyRules(graph, kRules, budget);
}

}  // namespace onward
