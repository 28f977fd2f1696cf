#include "generation/grammar/json_grammar.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

namespace onward::generation {
namespace {

constexpr uint32_t kMostIndent = 40;
// Longer numbers are not read alike by all that read JSON.
constexpr uint32_t kMostDigits = 18, kMostFraction = 15, kMostExponent = 2;

ByteSet SetOf(std::string_view bytes) {
  ByteSet set;
  for (const char byte : bytes) set.set(static_cast<uint8_t>(byte));
  return set;
}

// ASCII that stands for itself in a string.
ByteSet PlainAscii() {
  ByteSet set;
  for (size_t byte = 0x20; byte < 0x80; ++byte) set.set(byte);
  set.reset('"');
  set.reset('\\');
  return set;
}

constexpr char kHex[] = "0123456789abcdefABCDEF";

}  // namespace

JsonGrammar::JsonGrammar(const ByteSet& writable, bool raw_characters)
    : raw_characters_(raw_characters), builder_(writable) {
  GrammarBuilder& b = builder_;
  indent_ = b.Rule(b.Bytes(SetOf(" \t"), Grammar::kReturn));
  digit_ = b.Rule(b.Range('0', '9', Grammar::kReturn));
  raw_character_ = b.Rule(RawCharacter(Grammar::kReturn));
  character_ =
      b.Rule(b.Choice({b.Call(raw_character_, Grammar::kReturn), Escape(Grammar::kReturn)}));
  value_ = b.NewRule();
  const Node more = Mark(',', b.Call(value_, Grammar::kReturn));
  const int32_t item = b.Rule(more);
  const Node items = b.Call(value_, b.Repeat(item, 0, kNoLimit, Close(']', Grammar::kReturn)));
  array_ = b.Rule(Open('[', b.Choice({items, b.Text("]", Grammar::kReturn)})));
  const auto member = [&](Node next) {
    return String(0, kNoLimit, Mark(':', b.Call(value_, next)));
  };
  const int32_t other = b.Rule(Mark(',', member(Grammar::kReturn)));
  const Node members = member(b.Repeat(other, 0, kNoLimit, Close('}', Grammar::kReturn)));
  object_ = b.Rule(Open('{', b.Choice({members, b.Text("}", Grammar::kReturn)})));
  b.Define(value_, b.Choice({b.Call(object_, Grammar::kReturn), b.Call(array_, Grammar::kReturn),
                             String(0, kNoLimit, Grammar::kReturn), Number(Grammar::kReturn),
                             Boolean(Grammar::kReturn), Null(Grammar::kReturn)}));
}

JsonGrammar::Node JsonGrammar::Space(Node next) {
  const Node line = builder_.Text("\n", builder_.Repeat(indent_, 0, kMostIndent, next));
  return builder_.Choice({next, builder_.Text(" ", next), line});
}

JsonGrammar::Node JsonGrammar::Characters(uint32_t least, uint32_t most, Node next) {
  return builder_.Repeat(character_, least, most, next);
}

JsonGrammar::Node JsonGrammar::String(uint32_t least, uint32_t most, Node next) {
  return builder_.Text("\"", Characters(least, most, builder_.Text("\"", next)));
}

JsonGrammar::Node JsonGrammar::RawCharacter(Node next) {
  return builder_.Choice(
      {builder_.Bytes(PlainAscii(), next), Beyond({0x80, kLastCharacter}, next)});
}

// Surrogates come in pairs.
JsonGrammar::Node JsonGrammar::Escape(Node next) {
  GrammarBuilder& b = builder_;
  const Node hex1 = b.Bytes(SetOf(kHex), next), hex2 = b.Bytes(SetOf(kHex), hex1);
  const Node hex3 = b.Bytes(SetOf(kHex), hex2);
  const Node low = b.Text("\\u", b.Bytes(SetOf("dD"), b.Bytes(SetOf("cdefCDEF"), hex2)));
  const Node low2 = b.Bytes(SetOf(kHex), b.Bytes(SetOf(kHex), low));
  const Node high = b.Bytes(SetOf("dD"), b.Bytes(SetOf("89abAB"), low2));
  const Node lone = b.Choice({b.Bytes(SetOf("0123456789abcefABCEF"), hex3),
                              b.Bytes(SetOf("dD"), b.Bytes(SetOf("01234567"), hex2))});
  return b.Text(
      "\\", b.Choice({b.Bytes(SetOf("\"\\/bfnrt"), next), b.Text("u", b.Choice({lone, high}))}));
}

JsonGrammar::Node JsonGrammar::Digits(uint32_t least, uint32_t most, Node next) {
  return builder_.Repeat(digit_, least, most, next);
}

JsonGrammar::Node JsonGrammar::Integer(Node next) {
  GrammarBuilder& b = builder_;
  const Node amount =
      b.Choice({b.Text("0", next), b.Range('1', '9', Digits(0, kMostDigits - 1, next))});
  return b.Choice({amount, b.Text("-", amount)});
}

JsonGrammar::Node JsonGrammar::Number(Node next) {
  GrammarBuilder& b = builder_;
  const Node exponent = Digits(1, kMostExponent, next);
  const Node power = b.Bytes(SetOf("eE"), b.Choice({exponent, b.Bytes(SetOf("+-"), exponent)}));
  const Node end = b.Choice({next, power});
  return Integer(b.Choice({end, b.Text(".", Digits(1, kMostFraction, end))}));
}

JsonGrammar::Node JsonGrammar::Value(Node next) { return builder_.Call(value_, next); }
JsonGrammar::Node JsonGrammar::Object(Node next) { return builder_.Call(object_, next); }
JsonGrammar::Node JsonGrammar::Array(Node next) { return builder_.Call(array_, next); }

std::string JsonGrammar::Written(const Json& value) const {
  return value.dump(-1, ' ', /*ensure_ascii=*/!raw_characters_, Json::error_handler_t::replace);
}

JsonGrammar::Node JsonGrammar::OneOf(const std::vector<Json>& values, Node next) {
  std::vector<std::string> texts;
  for (const Json& value : values) texts.push_back(Written(value));
  return builder_.OneOf(texts, next);
}

}  // namespace onward::generation
