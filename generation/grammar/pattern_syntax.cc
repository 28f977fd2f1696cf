#include "generation/grammar/pattern_syntax.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "files/utf8.h"
#include "onward/status.h"

namespace onward::generation {
namespace {

using Ranges = std::vector<CharacterRange>;

constexpr size_t kMostBytes = 4096;
constexpr int kMostDepth = 32;
constexpr uint32_t kMostTimes = 10000;

// Characters of ASCII that are not of these; beyond ASCII readers differ about \w and the like.
Ranges AsciiWithout(const Ranges& ranges) {
  Ranges made;
  for (uint32_t c = 0; c < 0x80; ++c) {
    const bool in = absl::c_any_of(
        ranges, [c](const CharacterRange& each) { return c >= each.first && c <= each.last; });
    if (!in) made.push_back({c, c});
  }
  return made;
}

Ranges Without(Ranges ranges) {
  absl::c_sort(ranges, [](const auto& a, const auto& b) { return a.first < b.first; });
  Ranges made;
  uint32_t next = 0;
  for (const CharacterRange& each : ranges) {
    if (each.first > next) made.push_back({next, each.first - 1});
    next = std::max(next, each.last + 1);
  }
  if (next <= kLastCharacter) made.push_back({next, kLastCharacter});
  return made;
}

// The ranges of \d, \w, \s and their opposites; nullopt: another letter.
std::optional<Ranges> ClassOf(char letter) {
  const Ranges digits = {{'0', '9'}};
  const Ranges word = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
  const Ranges space = {{'\t', '\r'}, {' ', ' '}};
  switch (letter) {
    case 'd':
      return digits;
    case 'w':
      return word;
    case 's':
      return space;
    case 'D':
      return AsciiWithout(digits);
    case 'W':
      return AsciiWithout(word);
    case 'S': {
      Ranges without = space;
      without.push_back({0x1C, 0x1F});  // space to some
      return AsciiWithout(without);
    }
    default:
      return std::nullopt;
  }
}

class Parser {
 public:
  explicit Parser(std::string_view rest) : rest_(rest) {}

  absl::StatusOr<std::vector<PatternWay>> Parse() {
    std::vector<PatternWay> ways;
    do {
      PatternWay way;
      way.at_begin = Eat('^');
      ONWARD_ASSIGN_OR_RETURN(way.tree, Sequence(0));
      way.at_end = Eat('$');
      ways.push_back(std::move(way));
    } while (Eat('|'));
    if (!rest_.empty()) return Error(absl::StrCat("'", Front(), "' does not fit here"));
    return ways;
  }

 private:
  static absl::Status Error(std::string_view what) {
    return absl::InvalidArgumentError(std::string(what));
  }
  std::string Front() const { return files::PrintableUtf8(rest_.substr(0, 8)); }
  bool At(char c) const { return !rest_.empty() && rest_[0] == c; }
  bool Eat(char c) {
    if (!At(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  // The first character, which there is.
  uint32_t Character() {
    const size_t bytes = files::FrontOfUtf8(rest_).bytes;
    uint32_t c = static_cast<uint8_t>(rest_[0]);
    if (bytes > 1) c &= 0xFFU >> (bytes + 1);
    for (size_t i = 1; i < bytes; ++i) c = c << 6 | (static_cast<uint8_t>(rest_[i]) & 0x3FU);
    rest_.remove_prefix(bytes);
    return c;
  }

  absl::StatusOr<PatternTree> Choice(int depth) {
    if (depth > kMostDepth) return Error("has too many groups inside each other");
    PatternTree choice = {.kind = PatternTree::Kind::kChoice};
    do {
      ONWARD_ASSIGN_OR_RETURN(PatternTree part, Sequence(depth));
      choice.parts.push_back(std::move(part));
    } while (Eat('|'));
    return choice;
  }

  absl::StatusOr<PatternTree> Sequence(int depth) {
    PatternTree sequence;
    while (!rest_.empty() && !At('|') && !At(')') &&
           !(rest_ == "$" || rest_.substr(0, 2) == "$|")) {
      ONWARD_ASSIGN_OR_RETURN(PatternTree part, Atom(depth));
      ONWARD_RETURN_IF_ERROR(Repeated(part));
      sequence.parts.push_back(std::move(part));
    }
    return sequence;
  }

  absl::StatusOr<PatternTree> Atom(int depth) {
    PatternTree atom = {.kind = PatternTree::Kind::kCharacter};
    if (rest_.substr(0, 2) == "(?" && rest_.substr(0, 3) != "(?:")
      return Error(absl::StrCat("'", std::string(rest_.substr(0, 3)), "' is not supported"));
    if (Eat('(')) {
      if (Eat('?')) Eat(':');
      ONWARD_ASSIGN_OR_RETURN(atom, Choice(depth + 1));
      if (!Eat(')')) return Error("a ')' is missing");
      return atom;
    }
    if (Eat('[')) {
      ONWARD_ASSIGN_OR_RETURN(atom.characters, Set());
      return atom;
    }
    if (Eat('.')) {
      atom.characters = Without({{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}});
      return atom;
    }
    if (Eat('\\')) {
      ONWARD_ASSIGN_OR_RETURN(atom.characters, Escape());
      return atom;
    }
    if (std::string_view("^$*+?{}[]").find(rest_[0]) != std::string_view::npos)
      return Error(
          absl::StrCat("'", std::string(rest_.substr(0, 1)), "' is not supported at this place"));
    const uint32_t c = Character();
    atom.characters = {{c, c}};
    return atom;
  }

  // The characters of an escape, whose backslash is read.
  absl::StatusOr<Ranges> Escape() {
    if (rest_.empty()) return Error("ends with a backslash");
    const char letter = rest_[0];
    if (auto characters = ClassOf(letter)) {
      rest_.remove_prefix(1);
      return *characters;
    }
    static constexpr std::string_view kLetters = "tnrfv", kMeanings = "\t\n\r\f\v";
    if (const size_t at = kLetters.find(letter); at != kLetters.npos) {
      rest_.remove_prefix(1);
      const auto c = static_cast<uint32_t>(kMeanings[at]);
      return Ranges{{c, c}};
    }
    if (letter == 'x' || letter == 'u') {
      const size_t digits = letter == 'x' ? 2 : 4;
      const std::string number(rest_.substr(1, digits));
      if (number.size() < digits ||
          number.find_first_not_of("0123456789abcdefABCDEF") != number.npos)
        return Error(
            absl::StrCat("'\\", std::string(1, letter), "' needs ", digits, " hex digits"));
      rest_.remove_prefix(1 + digits);
      const auto c = static_cast<uint32_t>(std::stoul(number, nullptr, 16));
      if (c >= 0xD800 && c < 0xE000) return Error("surrogates are not supported");
      return Ranges{{c, c}};
    }
    const bool letter_or_digit = std::isalnum(static_cast<uint8_t>(letter)) != 0;
    if (letter_or_digit)
      return Error(absl::StrCat("'\\", std::string(1, letter), "' is not supported"));
    const uint32_t c = Character();
    return Ranges{{c, c}};
  }

  // A set, whose bracket is read.
  absl::StatusOr<Ranges> Set() {
    const bool opposite = Eat('^');
    bool has_class = false;
    Ranges ranges;
    while (!At(']')) {
      if (rest_.empty()) return Error("a ']' is missing");
      ONWARD_ASSIGN_OR_RETURN(Ranges one, SetItem());
      const bool range = At('-') && rest_.size() > 1 && rest_[1] != ']';
      if (one.size() != 1 || one[0].first != one[0].last) {
        if (range) return Error("a class is not the end of a range");
        has_class = true;
      } else if (range) {
        Eat('-');
        ONWARD_ASSIGN_OR_RETURN(const Ranges last, SetItem());
        if (last.size() != 1 || last[0].first != last[0].last || last[0].first < one[0].first)
          return Error("a range of characters is out of order");
        one[0].last = last[0].last;
      }
      ranges.insert(ranges.end(), one.begin(), one.end());
    }
    Eat(']');
    if (!opposite) return ranges;
    return has_class ? AsciiWithout(ranges) : Without(ranges);
  }

  absl::StatusOr<Ranges> SetItem() {
    if (Eat('\\')) {
      if (At('b')) return Error("'\\b' is not supported");
      return Escape();
    }
    if (rest_.empty()) return Error("a ']' is missing");
    const uint32_t c = Character();
    return Ranges{{c, c}};
  }

  absl::Status Repeated(PatternTree& part) {
    uint32_t least = 1, most = 1;
    if (Eat('*')) {
      least = 0;
      most = kNoLimit;
    } else if (Eat('+')) {
      most = kNoLimit;
    } else if (Eat('?')) {
      least = 0;
    } else if (At('{')) {
      ONWARD_RETURN_IF_ERROR(Times(least, most));
    } else {
      return absl::OkStatus();
    }
    Eat('?');  // which of several matches is found changes nothing
    if (part.TakesNothing()) return Error("repeating what may be empty is not supported");
    PatternTree inner = std::move(part);
    part = {.kind = PatternTree::Kind::kRepeat, .least = least, .most = most};
    part.parts.push_back(std::move(inner));
    return absl::OkStatus();
  }

  absl::Status Times(uint32_t& least, uint32_t& most) {
    Eat('{');
    const auto number = [this](uint32_t& value) {
      const size_t begin = rest_.size();
      for (value = 0; !rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9'; rest_.remove_prefix(1))
        value = std::min(value * 10 + static_cast<uint32_t>(rest_[0] - '0'), kMostTimes + 1);
      return rest_.size() < begin;
    };
    if (!number(least)) return Error("'{' needs a number");
    most = least;
    if (Eat(',') && !number(most)) most = kNoLimit;
    if (!Eat('}')) return Error("a '}' is missing");
    if (least > kMostTimes || (most > kMostTimes && most != kNoLimit))
      return Error(absl::StrCat("more than ", kMostTimes, " times is not supported"));
    return least <= most ? absl::OkStatus() : Error("the numbers of '{}' are out of order");
  }

  std::string_view rest_;
};

}  // namespace

bool PatternTree::TakesNothing() const {
  const auto takes = [](const PatternTree& part) { return part.TakesNothing(); };
  switch (kind) {
    case Kind::kCharacter:
      return false;
    case Kind::kSequence:
      return absl::c_all_of(parts, takes);
    case Kind::kChoice:
      return absl::c_any_of(parts, takes);
    default:
      return least == 0 || takes(parts[0]);
  }
}

absl::StatusOr<std::vector<PatternWay>> ParsePattern(std::string_view pattern) {
  if (pattern.size() > kMostBytes)
    return absl::InvalidArgumentError(absl::StrCat("has more than ", kMostBytes, " bytes"));
  if (!files::IsUtf8(pattern)) return absl::InvalidArgumentError("is not UTF-8");
  return Parser(pattern).Parse();
}

}  // namespace onward::generation
