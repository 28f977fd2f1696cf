// Characters of JSON's strings, as bytes.
#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <string>
#include <utility>

#include "generation/grammar/json_grammar.h"

namespace onward::generation {
namespace {

using Node = Grammar::Node;

struct Encoded {
  std::array<uint8_t, 4> bytes = {};
  size_t count = 0;
};

Encoded Utf8(uint32_t c) {
  const auto tail = [c](int shift) { return static_cast<uint8_t>(0x80 | (c >> shift & 0x3F)); };
  if (c < 0x800) return {{static_cast<uint8_t>(0xC0 | c >> 6), tail(0)}, 2};
  if (c < 0x10000) return {{static_cast<uint8_t>(0xE0 | c >> 12), tail(6), tail(0)}, 3};
  return {{static_cast<uint8_t>(0xF0 | c >> 18), tail(12), tail(6), tail(0)}, 4};
}

// Bytes from `at` on that lie between those of two characters of one length.
Node Between(GrammarBuilder& b, const Encoded& first, const Encoded& last, size_t at, Node next) {
  if (at == first.count) return next;
  const Encoded least = {{0x80, 0x80, 0x80, 0x80}, first.count};
  const Encoded most = {{0xBF, 0xBF, 0xBF, 0xBF}, first.count};
  const uint8_t low = first.bytes[at], high = last.bytes[at];
  if (low == high) return b.Range(low, low, Between(b, first, last, at + 1, next));
  std::vector<Node> ways = {b.Range(low, low, Between(b, first, most, at + 1, next)),
                            b.Range(high, high, Between(b, least, last, at + 1, next))};
  if (high - low > 1)
    ways.push_back(b.Range(static_cast<uint8_t>(low + 1), static_cast<uint8_t>(high - 1),
                           Between(b, least, most, at + 1, next)));
  return b.Choice(ways);
}

// The escape of an ASCII character in a string where it does not stand for itself.
std::string Escaped(uint32_t c) {
  switch (c) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default: {
      char text[8];
      std::snprintf(text, sizeof(text), "\\u%04x", c);
      return text;
    }
  }
}

}  // namespace

Node JsonGrammar::Beyond(CharacterRange range, Node next) {
  // Where the number of bytes changes, and around surrogates.
  static constexpr CharacterRange kParts[] = {
      {0x80, 0x7FF}, {0x800, 0xD7FF}, {0xE000, 0xFFFF}, {0x10000, kLastCharacter}};
  std::vector<Node> ways;
  for (const CharacterRange& part : kParts) {
    const uint32_t first = std::max(range.first, part.first);
    const uint32_t last = std::min(range.last, part.last);
    if (first <= last) ways.push_back(Between(builder_, Utf8(first), Utf8(last), 0, next));
  }
  return builder_.Choice(ways);
}

Node JsonGrammar::Character(const std::vector<CharacterRange>& ranges, Node next) {
  ByteSet plain;
  std::vector<std::string> escaped;
  std::vector<Node> ways;
  for (const CharacterRange& range : ranges) {
    for (uint32_t c = range.first; c <= std::min<uint32_t>(range.last, 0x7F); ++c) {
      if (c < 0x20 || c == '"' || c == '\\') {
        escaped.push_back(Escaped(c));
      } else {
        plain.set(c);
      }
    }
    if (range.last >= 0x80)
      ways.push_back(Beyond({std::max(range.first, 0x80U), range.last}, next));
  }
  if (plain.any()) ways.push_back(builder_.Bytes(plain, next));
  if (!escaped.empty()) ways.push_back(builder_.OneOf(escaped, next));
  return builder_.Choice(ways);
}

// A tree of the keys, which other keys leave at some character.
Node JsonGrammar::OtherKey(const std::vector<std::string>& keys, Node next) {
  struct Branch {
    std::map<uint8_t, size_t> children;
    bool ends = false;
  };
  std::vector<Branch> tree(1);
  for (const std::string& key : keys) {
    size_t at = 0;
    for (const char c : key) {
      const auto child = tree[at].children.try_emplace(static_cast<uint8_t>(c), tree.size()).first;
      at = child->second;
      if (at == tree.size()) tree.emplace_back();
    }
    tree[at].ends = true;
  }
  GrammarBuilder& b = builder_;
  const Node end = b.Text("\"", next);
  const Node rest = b.Repeat(raw_character_, 0, kNoLimit, end);
  const Node beyond = Beyond({0x80, kLastCharacter}, rest);
  ByteSet ascii;
  for (size_t byte = 0x20; byte < 0x80; ++byte) ascii.set(byte);
  ascii.reset('"').reset('\\');
  std::vector<Node> nodes(tree.size());
  for (size_t i = tree.size(); i-- > 0;) {  // children have larger numbers
    ByteSet others = ascii;
    bool has_beyond = false;
    std::vector<Node> ways;
    for (const auto& [byte, child] : tree[i].children) {
      if (byte >= 0x80 || !ascii[byte]) {
        // Characters beyond ASCII do not come where a key has one.
        has_beyond = has_beyond || byte >= 0x80;
        continue;
      }
      others.reset(byte);
      ways.push_back(b.Range(byte, byte, nodes[child]));
    }
    ways.push_back(b.Bytes(others, rest));
    if (!has_beyond) ways.push_back(beyond);
    if (!tree[i].ends) ways.push_back(end);
    nodes[i] = b.Choice(ways);
  }
  return b.Text("\"", nodes[0]);
}

}  // namespace onward::generation
