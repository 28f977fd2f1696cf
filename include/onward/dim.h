// One dimension of a value's type: a known size, an expression over named symbols, or unknown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"

namespace onward {

class Dim {
 public:
  Dim() = default;                       // unknown
  Dim(int64_t value) : value_(value) {}  // NOLINT: a number is a dim
  // `expression`: a symbol ("batch") or an expression over symbols ("past + 1") in canonical form.
  static Dim Symbol(std::string expression) {
    Dim dim;
    dim.expression_ = std::move(expression);
    return dim;
  }

  bool known() const { return value_ >= 0; }
  int64_t value() const { return value_; }
  bool symbolic() const { return !expression_.empty(); }
  const std::string& expression() const { return expression_; }
  bool unknown() const { return !known() && !symbolic(); }

  // Two unknown dims are equal as types but not known to be the same size.
  bool operator==(const Dim&) const = default;
  // Returns whether both are certainly the same size.
  bool SameAs(const Dim& other) const { return !unknown() && *this == other; }
  std::string ToString() const;  // "3", "batch", "past + 1", "?"

 private:
  int64_t value_ = -1;
  std::string expression_;
};

using SymbolicDims = std::vector<Dim>;

// Expressions are polynomials with integer coefficients over symbols (sizes, so never negative),
// floor division and the functions min, max, mod, trunc (division towards zero) and broadcast (the
// second operand where the first is 1, else the first). Canonical form: one spelling per
// polynomial, so that equal expressions compare equal as text: "past + 1", "2*height",
// "(height + 1)/2". A symbol that is not an identifier of letters, digits, '_', '.' and '#' stands
// in backquotes.

// The canonical form of `text`; a text that is not an expression is one symbol, backquoted.
Dim ParseDim(std::string_view text);
// One symbol of that name, whatever characters it has.
Dim SymbolDim(std::string_view name);
// A number of any sign: a negative one is the expression "-3".
Dim NumberDim(int64_t value);
// The number, when the dim is one; of any sign.
std::optional<int64_t> DimNumber(const Dim& dim);

// Unknown when an operand is, when the result overflows, or when it grows beyond use.
Dim DimAdd(const Dim& a, const Dim& b);
Dim DimSub(const Dim& a, const Dim& b);
Dim DimMul(const Dim& a, const Dim& b);
Dim DimFloorDiv(const Dim& a, const Dim& b);
Dim DimCeilDiv(const Dim& a, const Dim& b);
Dim DimTruncDiv(const Dim& a, const Dim& b);
Dim DimMod(const Dim& a, const Dim& b);  // with the sign of the divisor
Dim DimMin(const Dim& a, const Dim& b);
Dim DimMax(const Dim& a, const Dim& b);
Dim DimBroadcast(const Dim& a, const Dim& b);
// Product of dims[begin, end).
Dim DimProduct(const SymbolicDims& dims, size_t begin, size_t end);

// Returns whether a >= b for all sizes of the symbols.
bool DimAtLeast(const Dim& a, const Dim& b);

// Names of the symbols of an expression, without backquotes, each once.
std::vector<std::string> DimSymbols(const Dim& dim);
// The value for given symbols; nullopt when a symbol is missing, a divisor is 0, or it overflows.
std::optional<int64_t> EvaluateDim(
    const Dim& dim, absl::FunctionRef<std::optional<int64_t>(std::string_view symbol)> lookup);

}  // namespace onward
