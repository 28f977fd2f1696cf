#include <cctype>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "graph/base/dim_polynomial.h"

namespace onward {
namespace {

constexpr size_t kMaxText = 4096;
constexpr int kMaxDepth = 32;

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
        product = right ? Apply("mod", *product, *right) : std::nullopt;
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
    // "3x" is no expression.
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
    if (name == "min" || name == "Min") return Apply("min", *first, *second);
    if (name == "max" || name == "Max") return Apply("max", *first, *second);
    if (name == "mod" || name == "Mod") return Apply("mod", *first, *second);
    if (name == "trunc" || name == "broadcast") return Apply(name, *first, *second);
    return std::nullopt;
  }

  std::string_view text_;
  size_t position_ = 0;
  int depth_ = 0;
};

}  // namespace

std::optional<DimAtomParts> SplitAtom(const std::string& text) {
  // Splits at the '/' or the ',' that is outside inner parentheses and backquotes.
  int depth = 0;
  bool quoted = false;
  size_t slash = std::string::npos;
  size_t comma = std::string::npos;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '`') quoted = !quoted;
    if (quoted) continue;
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (depth == 0 && c == '/') slash = i;
    if (depth == 1 && c == ',') comma = i;
  }
  MaybePolynomial first;
  MaybePolynomial second;
  const size_t open = text.find('(');
  if (slash != std::string::npos) {
    first = ParsePolynomial(text.substr(0, slash));
    second = ParsePolynomial(text.substr(slash + 1));
  } else if (comma != std::string::npos && open < comma && text.back() == ')') {
    first = ParsePolynomial(text.substr(open + 1, comma - open - 1));
    second = ParsePolynomial(text.substr(comma + 1, text.size() - comma - 2));
  }
  if (!first || !second) return std::nullopt;
  return DimAtomParts{slash != std::string::npos ? "/" : text.substr(0, open), *first, *second};
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
