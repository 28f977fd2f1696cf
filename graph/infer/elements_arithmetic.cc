#include <cmath>

#include "graph/base/checked.h"
#include "graph/infer/element_rules.h"

namespace onward {
namespace {

using Elements = std::optional<SymbolicDims>;

bool IsFloat(const InferScope& scope, size_t input) {
  return IsFloating(scope.graph.type(scope.node.inputs[input]).dtype);
}

std::optional<Dims> OutputDims(const InferScope& scope) {
  return scope.graph.type(scope.node.outputs[0]).static_dims();
}

// The elements of an input, broadcast to the output.
Elements Broadcast(const InferScope& scope, size_t input) {
  const Elements elements = scope.Elements(input);
  const std::optional<Dims> from = scope.StaticDims(input);
  const std::optional<Dims> to = OutputDims(scope);
  if (!elements || !from || !to) return std::nullopt;
  return BroadcastElements(*elements, *from, *to);
}

template <typename F>
Elements Binary(const InferScope& scope, F&& combine) {
  Elements result = Broadcast(scope, 0);
  for (size_t input = 1; result && input < scope.node.inputs.size(); ++input) {
    const Elements other = Broadcast(scope, input);
    if (!other || other->size() != result->size()) return std::nullopt;
    for (size_t i = 0; i < result->size(); ++i) {
      (*result)[i] = combine((*result)[i], (*other)[i]);
    }
  }
  return result;
}

template <Dim (*Combine)(const Dim&, const Dim&)>
Elements Fold(const InferScope& scope, size_t) {
  return Binary(scope, Combine);
}

// The quotient when it has no remainder.
Dim ExactQuotient(const Dim& a, const Dim& b) {
  const Dim quotient = DimFloorDiv(a, b);
  return DimMul(quotient, b).SameAs(a) ? quotient : Dim();
}

Elements Div(const InferScope& scope, size_t) {
  return Binary(scope, IsFloat(scope, 0) ? ExactQuotient : DimTruncDiv);
}

Elements Mod(const InferScope& scope, size_t) {
  const bool sign_of_dividend = scope.node.attributes.Int("fmod", 0) != 0;
  return Binary(scope, [&](const Dim& a, const Dim& b) {
    if (sign_of_dividend && !(DimAtLeast(a, Dim(0)) && DimAtLeast(b, Dim(0)))) return Dim();
    return DimMod(a, b);
  });
}

// Decided comparisons are 0 or 1, others unknown.
Dim Decided(bool yes, bool no) { return yes ? Dim(1) : no ? Dim(0) : Dim(); }
Dim DimLess(const Dim& a, const Dim& b) {
  return Decided(DimAtLeast(b, DimAdd(a, Dim(1))), DimAtLeast(a, b));
}
Dim DimLessOrEqual(const Dim& a, const Dim& b) {
  return Decided(DimAtLeast(b, a), DimAtLeast(a, DimAdd(b, Dim(1))));
}
Dim DimGreater(const Dim& a, const Dim& b) { return DimLess(b, a); }
Dim DimGreaterOrEqual(const Dim& a, const Dim& b) { return DimLessOrEqual(b, a); }
Dim DimEqual(const Dim& a, const Dim& b) {
  const Dim one(1);
  return Decided(a.SameAs(b), DimAtLeast(a, DimAdd(b, one)) || DimAtLeast(b, DimAdd(a, one)));
}
Dim DimAnd(const Dim& a, const Dim& b) {
  const bool no = DimNumber(a) == 0 || DimNumber(b) == 0;
  return Decided(DimNumber(a) == 1 && DimNumber(b) == 1, no);
}
Dim DimOr(const Dim& a, const Dim& b) {
  const bool yes = DimNumber(a) == 1 || DimNumber(b) == 1;
  return Decided(yes, DimNumber(a) == 0 && DimNumber(b) == 0);
}

template <typename F>
Elements Unary(const InferScope& scope, F&& map) {
  Elements elements = scope.Elements(0);
  if (!elements) return std::nullopt;
  for (Dim& element : *elements) element = map(element);
  return elements;
}

Elements Not(const InferScope& scope, size_t) {
  return Unary(scope, [](const Dim& x) { return Decided(DimNumber(x) == 0, DimNumber(x) == 1); });
}
Elements Neg(const InferScope& scope, size_t) {
  return Unary(scope, [](const Dim& x) { return DimSub(Dim(0), x); });
}
Elements Abs(const InferScope& scope, size_t) {
  return Unary(scope, [](const Dim& x) {
    if (DimAtLeast(x, Dim(0))) return x;
    return DimAtLeast(Dim(0), x) ? DimSub(Dim(0), x) : Dim();
  });
}
Elements Same(const InferScope& scope, size_t output) {
  return output == 0 ? scope.Elements(0) : std::nullopt;
}

// A factor as numerator / 2^shift.
struct Fraction {
  int64_t numerator;
  int64_t denominator;
};
std::optional<Fraction> AsFraction(double value) {
  for (int shift = 0; shift <= 16; ++shift) {
    const double scaled = std::ldexp(value, shift);
    if (std::fabs(scaled) > 1e12) return std::nullopt;
    if (scaled == std::floor(scaled)) return Fraction{static_cast<int64_t>(scaled), 1 << shift};
  }
  return std::nullopt;
}

// The value before rounding, a quotient or a product with a constant, rounded by `divide`.
// Exporters compute sizes in floating point this way.
Elements RoundedProducer(const InferScope& scope, Dim (*divide)(const Dim&, const Dim&)) {
  const ValueId input = scope.node.inputs[0];
  const NodeId producer = scope.graph.value(input).producer;
  const std::optional<Dims> dims = scope.graph.type(input).static_dims();
  if (!producer.valid() || !dims) return std::nullopt;
  const InferScope inner{scope.graph, scope.graph.node(producer), scope.known};
  const std::string& op = inner.node.op_type;
  if (!inner.node.domain.empty() || (op != "Div" && op != "Mul")) return std::nullopt;
  Elements left = Broadcast(inner, 0);
  if (op == "Div") {
    const Elements right = Broadcast(inner, 1);
    if (!left || !right || left->size() != right->size()) return std::nullopt;
    for (size_t i = 0; i < left->size(); ++i) (*left)[i] = divide((*left)[i], (*right)[i]);
    return left;
  }
  const Tensor* factor = scope.graph.constant(inner.node.inputs[1]);
  if (factor == nullptr) {
    factor = scope.graph.constant(inner.node.inputs[0]);
    left = Broadcast(inner, 1);
  }
  if (!left || factor == nullptr || factor->dtype() != DType::kFloat32) return std::nullopt;
  if (factor->raw_data() == nullptr || factor->num_elements() != 1) return std::nullopt;
  const std::optional<Fraction> fraction = AsFraction(*factor->data<float>());
  if (!fraction) return std::nullopt;
  for (Dim& element : *left) {
    element = divide(DimMul(element, NumberDim(fraction->numerator)), Dim(fraction->denominator));
  }
  return left;
}

Elements Floor(const InferScope& scope, size_t) {
  Elements elements = scope.Elements(0);
  return elements ? elements : RoundedProducer(scope, DimFloorDiv);
}
Elements Ceil(const InferScope& scope, size_t) {
  Elements elements = scope.Elements(0);
  return elements ? elements : RoundedProducer(scope, DimCeilDiv);
}
Elements Cast(const InferScope& scope, size_t) {
  const DType to = scope.graph.type(scope.node.outputs[0]).dtype;
  if (to == DType::kBool) {
    return Unary(scope, [](const Dim& x) {
      return Decided(DimAtLeast(x, Dim(1)) || DimAtLeast(NumberDim(-1), x), DimNumber(x) == 0);
    });
  }
  Elements elements = scope.Elements(0);
  if (elements || !IsInteger(to)) return elements;
  return RoundedProducer(scope, DimTruncDiv);
}

Elements Where(const InferScope& scope, size_t) {
  const Elements condition = Broadcast(scope, 0);
  const Elements yes = Broadcast(scope, 1);
  const Elements no = Broadcast(scope, 2);
  if (!condition || (!yes && !no)) return std::nullopt;
  SymbolicDims result(condition->size());
  for (size_t i = 0; i < result.size(); ++i) {
    const std::optional<int64_t> decided = DimNumber((*condition)[i]);
    if (decided == 1 && yes) result[i] = (*yes)[i];
    if (decided == 0 && no) result[i] = (*no)[i];
    if (!decided && yes && no && (*yes)[i].SameAs((*no)[i])) result[i] = (*yes)[i];
  }
  return result;
}

// Reductions to one element.
template <Dim (*Combine)(const Dim&, const Dim&)>
Elements Reduce(const InferScope& scope, size_t) {
  const Elements elements = scope.Elements(0);
  const std::optional<Dims> dims = OutputDims(scope);
  if (!elements || elements->empty() || !dims || SaturatedNumElements(*dims) != 1)
    return std::nullopt;
  Dim result = (*elements)[0];
  for (size_t i = 1; i < elements->size(); ++i) result = Combine(result, (*elements)[i]);
  return SymbolicDims{result};
}

constexpr ElementRule kRules[] = {
    {"Abs", Abs},
    {"Add", Fold<DimAdd>},
    {"And", Fold<DimAnd>},
    {"Cast", Cast},
    {"CastLike", Cast},
    {"Ceil", Ceil},
    {"Div", Div},
    {"Equal", Fold<DimEqual>},
    {"Floor", Floor},
    {"Greater", Fold<DimGreater>},
    {"GreaterOrEqual", Fold<DimGreaterOrEqual>},
    {"Identity", Same},
    {"Less", Fold<DimLess>},
    {"LessOrEqual", Fold<DimLessOrEqual>},
    {"Max", Fold<DimMax>},
    {"Min", Fold<DimMin>},
    {"Mod", Mod},
    {"Mul", Fold<DimMul>},
    {"Neg", Neg},
    {"Not", Not},
    {"Or", Fold<DimOr>},
    {"ReduceMax", Reduce<DimMax>},
    {"ReduceMin", Reduce<DimMin>},
    {"ReduceProd", Reduce<DimMul>},
    {"ReduceSum", Reduce<DimAdd>},
    {"Round", Same},
    {"Sub", Fold<DimSub>},
    {"Sum", Fold<DimAdd>},
    {"Where", Where},
};

}  // namespace

absl::Span<const ElementRule> ArithmeticElementRules() { return kRules; }

}  // namespace onward
