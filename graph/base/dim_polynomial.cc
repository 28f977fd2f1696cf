#include "graph/base/dim_polynomial.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"

namespace onward {
namespace {

// Beyond these an expression says nothing useful, and hostile models must not make it grow.
constexpr size_t kMaxTerms = 24;
constexpr size_t kMaxDegree = 12;
constexpr size_t kMaxAtomText = 400;

MaybePolynomial Bounded(DimPolynomial polynomial) {
  if (polynomial.terms().size() > kMaxTerms) return std::nullopt;
  return polynomial;
}

MaybePolynomial AtomOf(std::string text) {
  if (text.size() > kMaxAtomText) return std::nullopt;
  return DimPolynomial(DimAtom{std::move(text), /*symbol=*/false});
}

// a / b as monomials, when b divides a.
std::optional<DimMonomial> DivideMonomials(const DimMonomial& a, const DimMonomial& b) {
  DimMonomial quotient;
  size_t next = 0;
  for (const DimAtom& atom : a) {
    if (next < b.size() && b[next] == atom) {
      ++next;
    } else {
      quotient.push_back(atom);
    }
  }
  if (next != b.size()) return std::nullopt;
  return quotient;
}

// a / b when it has no remainder.
MaybePolynomial DivideExactly(DimPolynomial a, const DimPolynomial& b) {
  DimPolynomial quotient;
  const auto& [lead, lead_coefficient] = *b.terms().begin();
  for (size_t steps = 0; !a.zero(); ++steps) {
    const auto [monomial, coefficient] = *a.terms().begin();
    const std::optional<DimMonomial> factor = DivideMonomials(monomial, lead);
    if (!factor || steps > kMaxTerms) return std::nullopt;
    if (coefficient % lead_coefficient != 0) return std::nullopt;
    DimPolynomial term;
    term.AddTerm(*factor, coefficient / lead_coefficient);
    const MaybePolynomial product = Multiply(term, b);
    const MaybePolynomial rest = product ? Subtract(a, *product) : std::nullopt;
    if (!rest) return std::nullopt;
    a = *rest;
    quotient.AddTerm(*factor, coefficient / lead_coefficient);
  }
  return quotient;
}

// In parentheses unless it is a number or one atom that needs none.
std::string AsOperand(const DimPolynomial& polynomial) {
  const std::string text = polynomial.ToString();
  if (const std::optional<int64_t> number = polynomial.number(); number && *number >= 0)
    return text;
  const auto& [monomial, coefficient] = *polynomial.terms().begin();
  const bool plain = polynomial.terms().size() == 1 && coefficient == 1 && monomial.size() == 1 &&
                     (monomial[0].symbol || monomial[0].text.find('/') == std::string::npos);
  return plain ? text : absl::StrCat("(", text, ")");
}

// floor((inner/a + c) / b) is floor((inner + c*a) / (a*b)) for numbers a, b > 0: stacks of strided
// ops stay one division.
MaybePolynomial FlattenNested(const DimPolynomial& rest, int64_t divisor) {
  const auto& terms = rest.terms();
  if (terms.size() > 2 || terms.begin()->second != 1 || terms.begin()->first.size() != 1 ||
      (terms.size() == 2 && !terms.rbegin()->first.empty())) {
    return std::nullopt;
  }
  const DimAtom& atom = terms.begin()->first[0];
  // A division by a number ends in a digit.
  if (atom.symbol || atom.text.back() < '0' || atom.text.back() > '9') return std::nullopt;
  const std::optional<DimAtomParts> inner = SplitAtom(atom.text);
  if (!inner || inner->function != "/" || inner->second.number().value_or(0) <= 0) {
    return std::nullopt;
  }
  const auto shift = CheckedMul(rest.constant_term(), *inner->second.number());
  const auto product = CheckedMul(*inner->second.number(), divisor);
  if (!shift || !product) return std::nullopt;
  const MaybePolynomial numerator = Add(inner->first, DimPolynomial(*shift));
  if (!numerator) return std::nullopt;
  return FloorDivide(*numerator, DimPolynomial(*product));
}

MaybePolynomial FloorDivideByNumber(const DimPolynomial& a, int64_t divisor) {
  DimPolynomial whole;
  DimPolynomial rest;
  int64_t common = divisor;
  for (const auto& [monomial, coefficient] : a.terms()) {
    if (monomial.empty()) {
      whole.AddTerm(monomial, *FloorDivide(coefficient, divisor));
      const int64_t remainder = coefficient % divisor;
      rest.AddTerm(monomial, remainder < 0 ? remainder + divisor : remainder);
    } else if (coefficient % divisor == 0) {
      whole.AddTerm(monomial, coefficient / divisor);
    } else {
      rest.AddTerm(monomial, coefficient);
      common = std::gcd(common, coefficient);
    }
  }
  if (rest.number()) return whole;  // between 0 and divisor - 1
  if (common > 1) {
    DimPolynomial reduced;
    for (const auto& [monomial, coefficient] : rest.terms()) {
      reduced.AddTerm(monomial, *FloorDivide(coefficient, common));
    }
    const MaybePolynomial quotient = FloorDivideByNumber(reduced, divisor / common);
    return quotient ? Add(whole, *quotient) : std::nullopt;
  }
  MaybePolynomial quotient = FlattenNested(rest, divisor);
  if (!quotient) quotient = AtomOf(absl::StrCat(AsOperand(rest), "/", divisor));
  return quotient ? Add(whole, *quotient) : std::nullopt;
}

// The operands of a polynomial that is one call of `function`.
std::optional<DimAtomParts> CallOf(std::string_view function, const DimPolynomial& polynomial) {
  const auto& terms = polynomial.terms();
  if (terms.size() != 1 || terms.begin()->second != 1) return std::nullopt;
  const DimMonomial& monomial = terms.begin()->first;
  if (monomial.size() != 1 || monomial[0].symbol) return std::nullopt;
  std::optional<DimAtomParts> parts = SplitAtom(monomial[0].text);
  return parts && parts->function == function ? std::move(parts) : std::nullopt;
}

// Returns whether function(a, b) is a because a is function(b, ...): min, max and broadcast are
// idempotent and associative.
bool Absorbs(std::string_view function, const DimPolynomial& a, const DimPolynomial& b) {
  const std::optional<DimAtomParts> parts = CallOf(function, a);
  return parts && (parts->first == b || parts->second == b || Absorbs(function, parts->first, b) ||
                   Absorbs(function, parts->second, b));
}

// Returns whether broadcast(a, b) is a wherever it is defined because b is min(n, a) for a number n
// > 1: b is another size than a only where it is not 1.
bool BroadcastCovers(const DimPolynomial& a, const DimPolynomial& b) {
  const std::optional<DimAtomParts> parts = CallOf("min", b);
  return parts && ((parts->first.number().value_or(0) > 1 && parts->second == a) ||
                   (parts->second.number().value_or(0) > 1 && parts->first == a));
}

}  // namespace

std::optional<int64_t> DimPolynomial::number() const {
  if (terms_.empty()) return 0;
  if (terms_.size() == 1 && terms_.begin()->first.empty()) return terms_.begin()->second;
  return std::nullopt;
}

int64_t DimPolynomial::constant_term() const {
  const auto it = terms_.find({});
  return it == terms_.end() ? 0 : it->second;
}

bool DimPolynomial::NonNegative() const {
  for (const auto& [monomial, coefficient] : terms_) {
    if (coefficient < 0) return false;
    for (const DimAtom& atom : monomial) {
      // Functions of sums with negative terms may be negative.
      if (!atom.symbol && atom.text.find('-') != std::string::npos) return false;
    }
  }
  return true;
}

bool DimPolynomial::AddTerm(const DimMonomial& monomial, int64_t coefficient) {
  if (coefficient == 0) return true;
  // The one number without a negation is refused, so that signs can be changed freely.
  constexpr int64_t kRefused = std::numeric_limits<int64_t>::min();
  if (coefficient == kRefused) return false;
  const auto [it, added] = terms_.try_emplace(monomial, coefficient);
  if (added) return true;
  const auto sum = CheckedAdd(it->second, coefficient);
  if (!sum || *sum == kRefused) return false;
  it->second = *sum;
  if (*sum == 0) terms_.erase(it);
  return true;
}

namespace {

// `coefficient` * `monomial` without sign. A division among other factors, or behind a minus, needs
// parentheses.
std::string TermText(const DimMonomial& monomial, int64_t coefficient) {
  const int64_t magnitude = coefficient < 0 ? -coefficient : coefficient;
  const bool alone = coefficient == 1 && monomial.size() == 1;
  std::string text;
  if (magnitude != 1 || monomial.empty()) absl::StrAppend(&text, magnitude);
  for (const DimAtom& atom : monomial) {
    const bool wrap = !alone && !atom.symbol && atom.text.find('/') != std::string::npos;
    absl::StrAppend(&text, text.empty() ? "" : "*", wrap ? "(" : "", atom.text, wrap ? ")" : "");
  }
  return text;
}

}  // namespace

std::string DimPolynomial::ToString() const {
  if (terms_.empty()) return "0";
  std::string text;
  for (const bool negative : {false, true}) {
    for (const auto& [monomial, coefficient] : terms_) {
      if ((coefficient < 0) != negative) continue;
      absl::StrAppend(&text, text.empty() ? (negative ? "-" : "") : (negative ? " - " : " + "),
                      TermText(monomial, coefficient));
    }
  }
  return text;
}

MaybePolynomial Add(const DimPolynomial& a, const DimPolynomial& b) {
  DimPolynomial sum = a;
  for (const auto& [monomial, coefficient] : b.terms()) {
    if (!sum.AddTerm(monomial, coefficient)) return std::nullopt;
  }
  return Bounded(std::move(sum));
}

MaybePolynomial Subtract(const DimPolynomial& a, const DimPolynomial& b) {
  const MaybePolynomial negative = Multiply(b, DimPolynomial(-1));
  return negative ? Add(a, *negative) : std::nullopt;
}

MaybePolynomial Multiply(const DimPolynomial& a, const DimPolynomial& b) {
  DimPolynomial product;
  for (const auto& [a_monomial, a_coefficient] : a.terms()) {
    for (const auto& [b_monomial, b_coefficient] : b.terms()) {
      const auto coefficient = CheckedMul(a_coefficient, b_coefficient);
      if (!coefficient || a_monomial.size() + b_monomial.size() > kMaxDegree) return std::nullopt;
      DimMonomial monomial(a_monomial);
      monomial.insert(monomial.end(), b_monomial.begin(), b_monomial.end());
      std::sort(monomial.begin(), monomial.end());
      if (!product.AddTerm(monomial, *coefficient)) return std::nullopt;
    }
  }
  return Bounded(std::move(product));
}

MaybePolynomial FloorDivide(const DimPolynomial& a, const DimPolynomial& b) {
  if (b.zero()) return std::nullopt;
  if (const std::optional<int64_t> divisor = b.number()) {
    if (const std::optional<int64_t> number = a.number()) {
      const std::optional<int64_t> quotient = FloorDivide(*number, *divisor);
      return quotient ? MaybePolynomial(DimPolynomial(*quotient)) : std::nullopt;
    }
    if (*divisor > 0) return FloorDivideByNumber(a, *divisor);
  } else if (MaybePolynomial exact = DivideExactly(a, b)) {
    return exact;
  }
  return AtomOf(absl::StrCat(AsOperand(a), "/", AsOperand(b)));
}

MaybePolynomial ApplyFunction(std::string_view function, const DimPolynomial& a,
                              const DimPolynomial& b) {
  if (a.number() && b.number()) {
    const std::optional<int64_t> result = ApplyToNumbers(function, *a.number(), *b.number());
    return result ? MaybePolynomial(DimPolynomial(*result)) : std::nullopt;
  }
  const MaybePolynomial difference = Subtract(a, b);
  const MaybePolynomial reverse = Subtract(b, a);
  if (!difference || !reverse) return std::nullopt;
  if (function == "min" || function == "max" || function == "broadcast") {
    if (Absorbs(function, a, b)) return a;
    if (Absorbs(function, b, a)) return b;
  }
  const bool a_at_least_b = difference->NonNegative();
  const bool b_at_least_a = reverse->NonNegative();
  if (function == "min" && (a_at_least_b || b_at_least_a)) return a_at_least_b ? b : a;
  if (function == "max" && (a_at_least_b || b_at_least_a)) return a_at_least_b ? a : b;
  if (function == "trunc" && a.NonNegative() && b.NonNegative()) return FloorDivide(a, b);
  if (function == "mod") {
    const MaybePolynomial quotient = FloorDivide(a, b);
    const MaybePolynomial whole = quotient ? Multiply(*quotient, b) : std::nullopt;
    return whole ? Subtract(a, *whole) : std::nullopt;
  }
  if (function == "broadcast") {
    if (difference->zero() || b.number() == 1) return a;
    if (BroadcastCovers(a, b)) return a;
    if (BroadcastCovers(b, a)) return b;
    // A size other than 1 stands whatever the other is; a run with another size is an error.
    if (a.number()) return *a.number() == 1 ? b : a;
    if (b.number()) return b;
  }
  const bool symmetric = function != "trunc";
  std::string first = a.ToString();
  std::string second = b.ToString();
  if (symmetric && second < first) std::swap(first, second);
  return AtomOf(absl::StrCat(std::string(function), "(", first, ", ", second, ")"));
}

std::optional<int64_t> FloorDivide(int64_t a, int64_t b) {
  if (b == 0 || (b == -1 && a == std::numeric_limits<int64_t>::min())) return std::nullopt;
  const int64_t quotient = a / b;
  return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

std::optional<int64_t> ApplyToNumbers(std::string_view function, int64_t a, int64_t b) {
  if (function == "min") return std::min(a, b);
  if (function == "max") return std::max(a, b);
  if (function == "broadcast") return a == 1 ? b : a;
  const std::optional<int64_t> floor = FloorDivide(a, b);
  if (!floor) return std::nullopt;
  if (function == "trunc") return a / b;
  return a - *floor * b;
}

}  // namespace onward
