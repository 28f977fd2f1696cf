// Numbers of a schema. Bounds are whole numbers, whose digits decide; numbers with bounds have no
// exponent.
#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "generation/grammar/schema_compiler.h"
#include "onward/status.h"

namespace onward::generation {
namespace {

using Json = nlohmann::ordered_json;
using Node = Grammar::Node;

constexpr int64_t kMostWhole = 999'999'999'999'999'999;  // 18 digits
constexpr uint32_t kMostFraction = 15;

// Amounts of as many digits as `least` and `most` have.
Node SameLength(std::string_view least, std::string_view most, bool above, bool below,
                JsonGrammar& grammar, Node next) {
  if (least.empty()) return next;
  if (!above && !below) {
    const auto count = static_cast<uint32_t>(least.size());
    return grammar.Digits(count, count, next);
  }
  GrammarBuilder& b = grammar.builder();
  const char low = above ? least[0] : '0', high = below ? most[0] : '9';
  std::vector<Node> ways;
  const auto add = [&](char first, char last, bool still_above, bool still_below) {
    if (first > last) return;
    ways.push_back(b.Range(
        static_cast<uint8_t>(first), static_cast<uint8_t>(last),
        SameLength(least.substr(1), most.substr(1), still_above, still_below, grammar, next)));
  };
  if (low == high) {
    add(low, low, above, below);
  } else {
    const char inner_low = static_cast<char>(above ? low + 1 : low);
    const char inner_high = static_cast<char>(below ? high - 1 : high);
    if (above) add(low, low, true, false);
    add(inner_low, inner_high, false, false);
    if (below) add(high, high, false, true);
  }
  return b.Choice(ways);
}

// Amounts from `least` to `most`, 0 <= least <= most.
Node Amounts(int64_t least, int64_t most, JsonGrammar& grammar, Node next) {
  std::vector<Node> ways;
  const std::string begin = absl::StrCat(least), end = absl::StrCat(most);
  for (size_t digits = begin.size(); digits <= end.size(); ++digits) {
    std::string first(digits, '0'), last(digits, '9');
    first[0] = '1';
    if (digits == begin.size()) first = begin;
    if (digits == end.size()) last = end;
    ways.push_back(SameLength(first, last, true, true, grammar, next));
  }
  return grammar.builder().Choice(ways);
}

struct Bounds {
  int64_t least = -kMostWhole, most = kMostWhole;
  bool least_out = false, most_out = false;  // they do not belong to it
};

// A bound that a keyword gives. `up`: it is rounded up to a whole number.
absl::Status ReadBound(const SchemaPlace& at, std::string_view keyword, bool lower, bool integer,
                       Bounds& bounds) {
  const Json* value = at.Find(keyword);
  if (value == nullptr) return absl::OkStatus();
  if (!value->is_number()) return at.At(keyword).Error("expected a number");
  const double number = value->get<double>();
  bool out = keyword[0] == 'e';
  double whole = lower ? std::ceil(number) : std::floor(number);
  if (whole != number && !integer)
    return at.At(keyword).Error("a bound that is not a whole number is not supported");
  if (whole != number) out = false;
  if (std::abs(whole) > (integer ? 1e17 : 1e15)) {
    if (lower == (whole < 0)) return absl::OkStatus();  // no number that is written reaches it
    return at.At(keyword).Error("a bound of so many digits is not supported");
  }
  auto bound = static_cast<int64_t>(whole);
  if (value->is_number_integer() && !value->is_number_float()) bound = value->get<int64_t>();
  if (integer && out) {
    bound += lower ? 1 : -1;
    out = false;
  }
  if (lower && (bound > bounds.least || (bound == bounds.least && out))) {
    bounds.least = bound;
    bounds.least_out = out;
  } else if (!lower && (bound < bounds.most || (bound == bounds.most && out))) {
    bounds.most = bound;
    bounds.most_out = out;
  }
  return absl::OkStatus();
}

// A whole amount with a fraction that is not rounded to the next amount by who reads it.
Node WithFraction(int64_t amount, bool not_zero, JsonGrammar& grammar, Node next) {
  GrammarBuilder& b = grammar.builder();
  const size_t digits = absl::StrCat(amount).size();
  const uint32_t most = digits < kMostFraction ? static_cast<uint32_t>(kMostFraction - digits) : 0;
  std::vector<Node> ways;
  if (!not_zero) ways.push_back(next);
  if (!not_zero && most > 0) ways.push_back(b.Text(".", grammar.Digits(1, most, next)));
  if (not_zero && most > 0) {
    const int32_t zero = b.Rule(b.Text("0", Grammar::kReturn));
    const uint32_t zeros = (most - 1) / 2;
    const Node rest = grammar.Digits(0, most - 1 - zeros, next);
    ways.push_back(b.Text(".", b.Repeat(zero, 0, zeros, b.Range('1', '9', rest))));
  }
  return Amounts(amount, amount, grammar, b.Choice(ways));
}

// Amounts within bounds, with fractions.
Node Fractions(const Bounds& range, JsonGrammar& grammar, Node next) {
  GrammarBuilder& b = grammar.builder();
  std::vector<Node> ways;
  const auto& [least, most, least_out, most_out] = range;
  if (least < most) ways.push_back(WithFraction(least, least_out, grammar, next));
  if (least + 1 < most - 1) {
    const Node fraction = b.Text(".", grammar.Digits(1, kMostFraction, next));
    ways.push_back(Amounts(least + 1, most - 2, grammar, b.Choice({next, fraction})));
  }
  if (least < most - 1) ways.push_back(WithFraction(most - 1, false, grammar, next));
  if (!most_out && !(least == most && least_out)) {
    const int32_t zero = b.Rule(b.Text("0", Grammar::kReturn));
    const Node zeros = b.Text(".", b.Repeat(zero, 1, kMostFraction, next));
    ways.push_back(Amounts(most, most, grammar, b.Choice({next, zeros})));
  }
  return b.Choice(ways);
}

// The part of the bounds that lies above 0, or of their mirror image.
Bounds Positive(const Bounds& bounds, bool mirror) {
  Bounds part = bounds;
  if (mirror) part = {-bounds.most, -bounds.least, bounds.most_out, bounds.least_out};
  if (part.least < 0) {
    part.least = 0;
    part.least_out = false;
  }
  return part;
}

// Whole numbers from `least` to `most`.
Node WholeNumbers(int64_t least, int64_t most, JsonGrammar& grammar, Node next) {
  GrammarBuilder& b = grammar.builder();
  std::vector<Node> ways;
  if (most >= 0) ways.push_back(Amounts(std::max<int64_t>(least, 0), most, grammar, next));
  if (least < 0)
    ways.push_back(b.Text("-", Amounts(std::max<int64_t>(-most, 1), -least, grammar, next)));
  return b.Choice(ways);
}

}  // namespace

absl::StatusOr<Node> SchemaCompiler::BuildNumber(const SchemaPlace& at, bool integer, Node next) {
  Bounds bounds;
  ONWARD_RETURN_IF_ERROR(ReadBound(at, "minimum", true, integer, bounds));
  ONWARD_RETURN_IF_ERROR(ReadBound(at, "exclusiveMinimum", true, integer, bounds));
  ONWARD_RETURN_IF_ERROR(ReadBound(at, "maximum", false, integer, bounds));
  ONWARD_RETURN_IF_ERROR(ReadBound(at, "exclusiveMaximum", false, integer, bounds));
  if (bounds.least > bounds.most) return at.Error("no number is within its bounds");
  const bool bounded = bounds.least != -kMostWhole || bounds.most != kMostWhole;
  if (!bounded) return integer ? grammar_.Integer(next) : grammar_.Number(next);
  if (integer) return WholeNumbers(bounds.least, bounds.most, grammar_, next);
  std::vector<Node> ways;
  const Bounds above = Positive(bounds, false), below = Positive(bounds, true);
  if (above.least <= above.most) ways.push_back(Fractions(above, grammar_, next));
  if (below.least <= below.most && below.most > 0)
    ways.push_back(grammar_.builder().Text("-", Fractions(below, grammar_, next)));
  return grammar_.builder().Choice(ways);
}

}  // namespace onward::generation
