#include "onward/dim.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "graph/base/checked.h"
#include "graph/base/dim_polynomial.h"

namespace onward {
namespace {

MaybePolynomial PolynomialOf(const Dim& dim) {
  if (dim.known()) return DimPolynomial(dim.value());
  return dim.symbolic() ? ParsePolynomial(dim.expression()) : std::nullopt;
}

Dim DimOf(const MaybePolynomial& polynomial) {
  if (!polynomial) return {};
  if (const std::optional<int64_t> number = polynomial->number()) return NumberDim(*number);
  return Dim::Symbol(polynomial->ToString());
}

template <typename F>
Dim Combine(const Dim& a, const Dim& b, F&& combine) {
  const MaybePolynomial left = PolynomialOf(a);
  const MaybePolynomial right = left ? PolynomialOf(b) : std::nullopt;
  return right ? DimOf(combine(*left, *right)) : Dim();
}

Dim CombineBy(std::string_view function, const Dim& a, const Dim& b) {
  return Combine(a, b, [&](const DimPolynomial& x, const DimPolynomial& y) {
    return ApplyFunction(function, x, y);
  });
}

// A symbol's name without backquotes.
std::string NameOf(const std::string& text) {
  if (text.empty() || text[0] != '`') return text;
  std::string name;
  for (size_t i = 1; i + 1 < text.size(); ++i) {
    name += text[i];
    if (text[i] == '`') ++i;
  }
  return name;
}

using Lookup = absl::FunctionRef<std::optional<int64_t>(std::string_view)>;

std::optional<int64_t> Evaluate(const DimPolynomial& polynomial, Lookup lookup);

std::optional<int64_t> EvaluateAtom(const DimAtom& atom, Lookup lookup) {
  if (atom.symbol) return lookup(NameOf(atom.text));
  const std::optional<DimAtomParts> parts = SplitAtom(atom.text);
  if (!parts) return std::nullopt;
  const std::optional<int64_t> first = Evaluate(parts->first, lookup);
  const std::optional<int64_t> second = Evaluate(parts->second, lookup);
  if (!first || !second) return std::nullopt;
  return parts->function == "/" ? FloorDivide(*first, *second)
                                : ApplyToNumbers(parts->function, *first, *second);
}

std::optional<int64_t> Evaluate(const DimPolynomial& polynomial, Lookup lookup) {
  int64_t sum = 0;
  for (const auto& [monomial, coefficient] : polynomial.terms()) {
    std::optional<int64_t> product = coefficient;
    for (const DimAtom& atom : monomial) {
      const std::optional<int64_t> factor = EvaluateAtom(atom, lookup);
      if (!factor) return std::nullopt;
      product = CheckedMul(*product, *factor);
      if (!product) return std::nullopt;
    }
    const std::optional<int64_t> next = CheckedAdd(sum, *product);
    if (!next) return std::nullopt;
    sum = *next;
  }
  return sum;
}

void CollectSymbols(const DimPolynomial& polynomial, std::vector<std::string>& names) {
  for (const auto& [monomial, coefficient] : polynomial.terms()) {
    for (const DimAtom& atom : monomial) {
      if (atom.symbol) {
        names.push_back(NameOf(atom.text));
      } else if (const std::optional<DimAtomParts> parts = SplitAtom(atom.text)) {
        CollectSymbols(parts->first, names);
        CollectSymbols(parts->second, names);
      }
    }
  }
}

}  // namespace

std::string Dim::ToString() const {
  if (known()) return std::to_string(value_);
  return symbolic() ? expression_ : "?";
}

Dim ParseDim(std::string_view text) {
  const MaybePolynomial polynomial = ParsePolynomial(text);
  return polynomial ? DimOf(polynomial) : SymbolDim(text);
}

Dim SymbolDim(std::string_view name) { return Dim::Symbol(SymbolText(name)); }

Dim NumberDim(int64_t value) {
  return value >= 0 ? Dim(value) : Dim::Symbol(std::to_string(value));
}

std::optional<int64_t> DimNumber(const Dim& dim) {
  if (dim.known()) return dim.value();
  int64_t number;
  if (!dim.symbolic() || !absl::SimpleAtoi(dim.expression(), &number)) return std::nullopt;
  return number;
}

Dim DimAdd(const Dim& a, const Dim& b) {
  return Combine(a, b, [](const auto& x, const auto& y) { return Add(x, y); });
}
Dim DimSub(const Dim& a, const Dim& b) {
  return Combine(a, b, [](const auto& x, const auto& y) { return Subtract(x, y); });
}
Dim DimMul(const Dim& a, const Dim& b) {
  return Combine(a, b, [](const auto& x, const auto& y) { return Multiply(x, y); });
}
Dim DimFloorDiv(const Dim& a, const Dim& b) {
  return Combine(a, b, [](const auto& x, const auto& y) { return FloorDivide(x, y); });
}
Dim DimCeilDiv(const Dim& a, const Dim& b) {
  // ceil(a / b) = -floor(-a / b), written with a positive numerator where b is a number.
  if (b.known() && b.value() > 0) return DimFloorDiv(DimAdd(a, Dim(b.value() - 1)), b);
  return DimSub(Dim(0), DimFloorDiv(DimSub(Dim(0), a), b));
}
Dim DimTruncDiv(const Dim& a, const Dim& b) { return CombineBy("trunc", a, b); }
Dim DimMod(const Dim& a, const Dim& b) { return CombineBy("mod", a, b); }
Dim DimMin(const Dim& a, const Dim& b) { return CombineBy("min", a, b); }
Dim DimMax(const Dim& a, const Dim& b) { return CombineBy("max", a, b); }
Dim DimBroadcast(const Dim& a, const Dim& b) {
  if (a.SameAs(b)) return a;
  return CombineBy("broadcast", a, b);
}

Dim DimProduct(const SymbolicDims& dims, size_t begin, size_t end) {
  Dim product(1);
  for (size_t i = begin; i < end; ++i) product = DimMul(product, dims[i]);
  return product;
}

bool DimAtLeast(const Dim& a, const Dim& b) {
  const MaybePolynomial left = PolynomialOf(a);
  const MaybePolynomial right = PolynomialOf(b);
  if (!left || !right) return false;
  const MaybePolynomial difference = Subtract(*left, *right);
  return difference && difference->NonNegative();
}

std::vector<std::string> DimSymbols(const Dim& dim) {
  std::vector<std::string> names;
  if (const MaybePolynomial polynomial = dim.symbolic() ? PolynomialOf(dim) : std::nullopt) {
    CollectSymbols(*polynomial, names);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::optional<int64_t> EvaluateDim(const Dim& dim, Lookup lookup) {
  const MaybePolynomial polynomial = PolynomialOf(dim);
  return polynomial ? Evaluate(*polynomial, lookup) : std::nullopt;
}

}  // namespace onward
