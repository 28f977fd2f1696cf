#include <cctype>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "graph/base/dim_polynomial.h"

namespace onward {
namespace {

constexpr size_t kMaxText = 4096;
constexpr int kMaxDepth = 256;  // deeper than kMaxAtomText allows an atom to be

bool StartsIdentifier(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool ContinuesIdentifier(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '#';
}

// sum = product {("+" | "-") product}; product = factor {("*" | "/" | "//" | "%") factor}.
// Spellings of SymPy (floor, ceiling, Mod, Max, Min, **) are understood.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  MaybePolynomial Parse() {
    MaybePolynomial sum = Sum();
    SkipSpaces();
    return position_ == text_.size() ? sum : std::nullopt;
  }

 private:
  void SkipSpaces() {
    while (position_ < text_.size() && text_[position_] == ' ') ++position_;
  }
  bool Take(std::string_view token) {
    SkipSpaces();
    if (text_.substr(position_, token.size()) != token) return false;
    position_ += token.size();
    return true;
  }

  MaybePolynomial Sum() {
    if (++depth_ > kMaxDepth) return std::nullopt;
    MaybePolynomial sum = Product();
    while (sum) {
      if (Take("+")) {
        const MaybePolynomial right = Product();
        sum = right ? Add(*sum, *right) : std::nullopt;
      } else if (Take("-")) {
        const MaybePolynomial right = Product();
        sum = right ? Subtract(*sum, *right) : std::nullopt;
      } else {
        break;
      }
    }
    --depth_;
    return sum;
  }

  MaybePolynomial Product() {
    MaybePolynomial product = Power();
    while (product) {
      if (Take("*")) {
        const MaybePolynomial right = Power();
        product = right ? Multiply(*product, *right) : std::nullopt;
      } else if (Take("//") || Take("/")) {
        const MaybePolynomial right = Power();
        product = right ? FloorDivide(*product, *right) : std::nullopt;
      } else if (Take("%")) {
        const MaybePolynomial right = Power();
        product = right ? ApplyFunction("mod", *product, *right) : std::nullopt;
      } else {
        break;
      }
    }
    return product;
  }

  MaybePolynomial Power() {
    if (Take("-")) {
      if (++depth_ > kMaxDepth) return std::nullopt;
      const MaybePolynomial operand = Power();
      --depth_;
      return operand ? Multiply(*operand, DimPolynomial(-1)) : std::nullopt;
    }
    MaybePolynomial base = Factor();
    if (!base || !Take("**")) return base;
    const MaybePolynomial exponent = Factor();
    if (!exponent || !exponent->number()) return std::nullopt;
    const int64_t count = *exponent->number();
    if (count < 0 || count > 8) return std::nullopt;
    MaybePolynomial power = DimPolynomial(1);
    for (int64_t i = 0; power && i < count; ++i) power = Multiply(*power, *base);
    return power;
  }

  MaybePolynomial Factor() {
    SkipSpaces();
    if (position_ == text_.size()) return std::nullopt;
    const char c = text_[position_];
    if (Take("(")) {
      MaybePolynomial inner = Sum();
      return Take(")") ? inner : std::nullopt;
    }
    if (c == '`') return Quoted();
    if (std::isdigit(static_cast<unsigned char>(c))) return Number();
    if (!StartsIdentifier(c)) return std::nullopt;
    std::string name;
    while (position_ < text_.size() && ContinuesIdentifier(text_[position_])) {
      name += text_[position_++];
    }
    if (Take("(")) return Call(name);
    return DimPolynomial(DimAtom{std::move(name)});
  }

  MaybePolynomial Number() {
    int64_t number = 0;
    for (; position_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[position_]));
         ++position_) {
      const auto scaled = CheckedMul(number, 10);
      const auto next = scaled ? CheckedAdd(*scaled, text_[position_] - '0') : std::nullopt;
      if (!next) return std::nullopt;
      number = *next;
    }
    // "3x" is not an expression.
    if (position_ < text_.size() && ContinuesIdentifier(text_[position_])) return std::nullopt;
    return DimPolynomial(number);
  }

  MaybePolynomial Quoted() {
    std::string name;
    for (++position_; position_ < text_.size(); ++position_) {
      if (text_[position_] == '`') {
        if (position_ + 1 == text_.size() || text_[position_ + 1] != '`') {
          ++position_;
          return DimPolynomial(DimAtom{SymbolText(name)});
        }
        ++position_;
      }
      name += text_[position_];
    }
    return std::nullopt;
  }

  MaybePolynomial Call(const std::string& name) {
    const MaybePolynomial first = Sum();
    if (!first) return std::nullopt;
    if (Take(")")) {
      // A quotient inside is already rounded down.
      return name == "floor" ? first : std::nullopt;
    }
    if (!Take(",")) return std::nullopt;
    const MaybePolynomial second = Sum();
    if (!second || !Take(")")) return std::nullopt;
    if (name == "min" || name == "Min") return ApplyFunction("min", *first, *second);
    if (name == "max" || name == "Max") return ApplyFunction("max", *first, *second);
    if (name == "mod" || name == "Mod") return ApplyFunction("mod", *first, *second);
    if (name == "trunc" || name == "broadcast") return ApplyFunction(name, *first, *second);
    return std::nullopt;
  }

  std::string_view text_;
  size_t position_ = 0;
  int depth_ = 0;
};

}  // namespace

namespace {

// Calls f(position, character) for every character outside parentheses and backquotes.
template <typename F>
void ForEachOutside(std::string_view text, F&& f) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '`') quoted = !quoted;
    if (quoted) continue;
    if (c == ')') --depth;
    if (depth == 0) f(i, c);
    if (c == '(') ++depth;
  }
}

size_t FindOutside(std::string_view text, char wanted) {
  size_t found = std::string_view::npos;
  ForEachOutside(text, [&](size_t i, char c) {
    if (c == wanted) found = i;
  });
  return found;
}

// Adds a term as TermText writes it.
void AddCanonicalTerm(std::string_view term, int64_t sign, DimPolynomial& sum) {
  DimMonomial monomial;
  int64_t coefficient = sign;
  const auto add_factor = [&](std::string_view factor) {
    int64_t number;
    if (absl::SimpleAtoi(std::string(factor), &number)) {
      coefficient *= number;
      return;
    }
    if (factor.front() == '(' && FindOutside(factor, '/') == std::string_view::npos) {
      factor = factor.substr(1, factor.size() - 2);
    }
    const bool symbol = factor.front() == '`' || factor.find_first_of("(/") == factor.npos;
    monomial.push_back(DimAtom{std::string(factor), symbol});
  };
  if (FindOutside(term, '/') != std::string_view::npos) {
    add_factor(term);
  } else {
    size_t begin = 0;
    ForEachOutside(term, [&](size_t i, char c) {
      if (c != '*') return;
      add_factor(term.substr(begin, i - begin));
      begin = i + 1;
    });
    add_factor(term.substr(begin));
  }
  sum.AddTerm(monomial, coefficient);
}

// Reads what DimPolynomial::ToString writes, in linear time: functions are atoms as they stand and
// are not simplified again, which would take exponential time in their depth.
DimPolynomial ReadCanonical(std::string_view text) {
  DimPolynomial sum;
  int64_t sign = 1;
  size_t begin = 0;
  if (!text.empty() && text.front() == '-') {
    sign = -1;
    begin = 1;
  }
  ForEachOutside(text, [&](size_t i, char c) {
    if ((c != '+' && c != '-') || i <= begin) return;
    AddCanonicalTerm(text.substr(begin, i - 1 - begin), sign, sum);  // without the space before
    sign = c == '-' ? -1 : 1;
    begin = i + 2;
  });
  AddCanonicalTerm(text.substr(begin), sign, sum);
  return sum;
}

DimPolynomial ReadOperand(std::string_view text) {
  const bool wrapped = text.front() == '(' && FindOutside(text, '/') == std::string_view::npos &&
                       FindOutside(text, '*') == std::string_view::npos;
  return ReadCanonical(wrapped ? text.substr(1, text.size() - 2) : text);
}

}  // namespace

std::optional<DimAtomParts> SplitAtom(const std::string& text) {
  const std::string_view view = text;
  if (const size_t slash = FindOutside(view, '/'); slash != std::string_view::npos) {
    return DimAtomParts{"/", ReadOperand(view.substr(0, slash)),
                        ReadOperand(view.substr(slash + 1))};
  }
  const size_t open = view.find('(');
  if (open == std::string_view::npos || view.back() != ')') return std::nullopt;
  const std::string_view inner = view.substr(open + 1, view.size() - open - 2);
  const size_t comma = FindOutside(inner, ',');
  if (comma == std::string_view::npos) return std::nullopt;
  return DimAtomParts{text.substr(0, open), ReadCanonical(inner.substr(0, comma)),
                      ReadCanonical(inner.substr(comma + 2))};
}

std::string SymbolText(std::string_view name) {
  bool identifier = !name.empty() && StartsIdentifier(name[0]);
  for (char c : name) identifier &= ContinuesIdentifier(c);
  if (identifier) return std::string(name);
  std::string text = "`";
  for (char c : name) {
    text += c;
    if (c == '`') text += '`';
  }
  return text + "`";
}

MaybePolynomial ParsePolynomial(std::string_view text) {
  if (text.size() > kMaxText) return std::nullopt;
  return Parser(text).Parse();
}

}  // namespace onward
