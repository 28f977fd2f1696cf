// Polynomials with integer coefficients over atoms: what canonical dim expressions are made of.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace onward {

// A factor that arithmetic does not look into: a symbol, or a function of polynomials in canonical
// text.
struct DimAtom {
  std::string text;  // canonical: "batch", "(height + 1)/2", "min(a, b)"
  bool symbol = true;
  auto operator<=>(const DimAtom&) const = default;
};

// Atoms in order; a power is a repetition.
using DimMonomial = std::vector<DimAtom>;

// Higher degrees first, then by atoms: the order of printing and of division.
struct DimMonomialOrder {
  bool operator()(const DimMonomial& a, const DimMonomial& b) const {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  }
};

class DimPolynomial {
 public:
  using Terms = std::map<DimMonomial, int64_t, DimMonomialOrder>;

  DimPolynomial() = default;  // zero
  explicit DimPolynomial(int64_t number) {
    if (number != 0) terms_[{}] = number;
  }
  explicit DimPolynomial(DimAtom atom) { terms_[{std::move(atom)}] = 1; }

  const Terms& terms() const { return terms_; }
  bool zero() const { return terms_.empty(); }
  std::optional<int64_t> number() const;
  int64_t constant_term() const;
  // Returns whether every value is >= 0 when symbols are.
  bool NonNegative() const;
  std::string ToString() const;
  bool operator==(const DimPolynomial&) const = default;

  // False on overflow.
  bool AddTerm(const DimMonomial& monomial, int64_t coefficient);

 private:
  Terms terms_;
};

using MaybePolynomial = std::optional<DimPolynomial>;

// Nullopt on overflow or when a result has too many terms to be of use.
MaybePolynomial Add(const DimPolynomial& a, const DimPolynomial& b);
MaybePolynomial Subtract(const DimPolynomial& a, const DimPolynomial& b);
MaybePolynomial Multiply(const DimPolynomial& a, const DimPolynomial& b);
MaybePolynomial FloorDivide(const DimPolynomial& a, const DimPolynomial& b);
// `function`: "min", "max", "mod", "trunc" or "broadcast".
MaybePolynomial ApplyFunction(std::string_view function, const DimPolynomial& a,
                              const DimPolynomial& b);

// The symbol's canonical text: backquoted unless it is an identifier.
std::string SymbolText(std::string_view name);

// Nullopt when the text is not an expression.
MaybePolynomial ParsePolynomial(std::string_view text);

// The function ("/" for division) and operands of an atom that is not a symbol.
struct DimAtomParts {
  std::string function;
  DimPolynomial first;
  DimPolynomial second;
};
// `text` must be an atom's; linear in its length.
std::optional<DimAtomParts> SplitAtom(const std::string& text);

// Floor division and modulus of numbers; nullopt where undefined.
std::optional<int64_t> FloorDivide(int64_t a, int64_t b);
// The functions on numbers.
std::optional<int64_t> ApplyToNumbers(std::string_view function, int64_t a, int64_t b);

}  // namespace onward
