// Regular expressions (ECMA-262) as trees.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "generation/grammar/json_grammar.h"

namespace onward::generation {

struct PatternTree {
  enum class Kind : uint8_t { kCharacter, kSequence, kChoice, kRepeat };

  Kind kind = Kind::kSequence;
  std::vector<CharacterRange> characters = {};
  std::vector<PatternTree> parts = {};  // a repetition has one
  uint32_t least = 1, most = 1;         // of a repetition

  bool TakesNothing() const;  // whether the empty text fits
};

// One of the ways of a pattern. Where it is not tied, any text may stand before or behind it.
struct PatternWay {
  PatternTree tree;
  bool at_begin = false, at_end = false;
};

// InvalidArgument: it is wrong, or has what is not done: look-around, references, word borders,
// Unicode's properties, ^ and $ inside, a repetition of what may be empty.
absl::StatusOr<std::vector<PatternWay>> ParsePattern(std::string_view pattern);

}  // namespace onward::generation
