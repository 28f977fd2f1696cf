// Texts of a grammar by random scores.
#pragma once

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "generation/grammar/grammar_constraint.h"
#include "onward/generation/sampling.h"

namespace onward::generation {

// The 256 bytes, then texts that cross the borders of JSON's parts.
inline std::vector<std::string> ByteTokens() {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  for (const char* more : {"{\"",
                           "\":",
                           "\": ",
                           "\",",
                           "\"}",
                           "\"}]",
                           "]}",
                           "}}",
                           "[[",
                           "\", \"",
                           " \"",
                           "null",
                           "true",
                           "tru",
                           "12",
                           "100",
                           "999999",
                           "0.5",
                           "-1",
                           ".0",
                           "e+",
                           "the",
                           " the",
                           "name",
                           "\":[",
                           "[]",
                           "{}",
                           "\n  ",
                           "\n",
                           "  ",
                           "\\n",
                           "\\u00",
                           "\\ud83d\\ude00",
                           "é",
                           "天安",
                           "天",
                           "😀",
                           "\xE5\xA4",
                           "foo-",
                           "@x.com",
                           "kind",
                           "\"kind\":\"c",
                           "cat",
                           "fish",
                           "a\"",
                           "\\\\",
                           "\\\"",
                           "ключ",
                           "2024-",
                           "T12:",
                           "x",
                           "xx",
                           "xxxxxxxxxxxxxxxxxxxxxxxx"})
    tokens.emplace_back(more);
  return tokens;
}

// The text that random scores choose, with the token behind the last one as the one that ends a
// text. nullopt: it does not end within `most` tokens. Texts that get long are drawn to their end.
inline std::optional<std::string> DrawnText(const std::shared_ptr<GrammarMasks>& masks,
                                            uint64_t seed, int most = 600) {
  const TokenOrder& tokens = masks->tokens();
  const int64_t stop = tokens.size();
  GrammarConstraint constraint(masks, {stop});
  std::mt19937_64 random(seed);
  std::normal_distribution<float> score(0, 3);
  std::string text;
  for (int step = 0; step < most; ++step) {
    std::vector<float> scores(static_cast<size_t>(stop) + 1);
    for (float& each : scores) each = score(random);
    const float haste = static_cast<float>(step) / 10;
    for (const char end : {'"', ']', '}'}) scores[static_cast<uint8_t>(end)] += haste;
    scores.back() += 1 + haste;
    constraint.Mask(absl::MakeSpan(scores));
    if (!constraint.status().ok()) return std::string(constraint.status().message());
    const int64_t token = Best(scores);
    if (token == stop) return text;
    constraint.Take(token);
    text += tokens.bytes_of(token);
    if (constraint.Ends()) return text;
  }
  return std::nullopt;
}

}  // namespace onward::generation
