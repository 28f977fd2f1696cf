// A grammar of bytes: rules that call each other, as a graph of steps. What a text may be, for
// instance JSON of a schema.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"

namespace onward::generation {

using ByteSet = std::bitset<256>;

enum class GrammarStepKind : uint8_t {
  kBytes,   // one byte of a set
  kChoice,  // one of several ways
  kCall,    // a rule, then what follows
  kRepeat,  // a rule several times, then what follows
  kReturn,  // the end of a rule
  kEnd,     // the end of the text
};

inline constexpr uint32_t kNoLimit = std::numeric_limits<uint32_t>::max();

struct GrammarStep {
  GrammarStepKind kind = GrammarStepKind::kReturn;
  int32_t what = 0;  // a set, the first way, or a rule
  int32_t next = 0;  // the step that follows; the number of ways
  uint32_t least = 1, most = 1;
};

// Immutable, so thread-safe.
class Grammar {
 public:
  using Node = int32_t;  // a step
  static constexpr Node kReturn = 0, kEnd = 1;
  static constexpr int32_t kNever = std::numeric_limits<int32_t>::max();

  Node start() const { return start_; }
  const GrammarStep& step(Node node) const { return steps_[static_cast<size_t>(node)]; }
  Node way(const GrammarStep& choice, int32_t index) const {
    return ways_[static_cast<size_t>(choice.what + index)];
  }
  Node rule(int32_t index) const { return rules_[static_cast<size_t>(index)]; }
  bool Has(const GrammarStep& bytes, uint8_t byte) const {
    return sets_[static_cast<size_t>(bytes.what)][byte];
  }

  // The number of nested calls on the shortest way from a step to the end of its rule;
  // kNever: no text leads there. Whoever enters only steps for which there is room is never stuck.
  int32_t height(Node node) const { return heights_[static_cast<size_t>(node)]; }
  int32_t most_depth() const { return most_depth_; }  // of calls in a text

  // Bytes of one class are in the same sets.
  size_t classes() const { return class_bytes_.size(); }
  uint8_t class_of(uint8_t byte) const { return class_of_[byte]; }
  uint8_t byte_of(size_t byte_class) const { return class_bytes_[byte_class]; }

 private:
  friend class GrammarBuilder;
  void FindHeights();
  int32_t HeightOf(const GrammarStep& step) const;
  void FindClasses();

  std::vector<GrammarStep> steps_;
  std::vector<Node> ways_, rules_;
  std::vector<ByteSet> sets_;
  std::vector<int32_t> heights_;
  std::array<uint8_t, 256> class_of_ = {};
  std::vector<uint8_t> class_bytes_;
  Node start_ = kEnd;
  int32_t most_depth_ = 0;
};

// Makes a grammar from its end to its start: each step is given the one that follows. Steps that
// several others lead to are shared, so that a grammar is as large as what it is made from.
class GrammarBuilder {
 public:
  using Node = Grammar::Node;

  // Bytes outside of `writable` never come.
  explicit GrammarBuilder(const ByteSet& writable);

  const ByteSet& writable() const { return writable_; }

  Node Bytes(const ByteSet& set, Node next);
  Node Range(uint8_t first, uint8_t last, Node next);
  Node Text(std::string_view text, Node next);  // these bytes
  // One of these texts.
  Node OneOf(const std::vector<std::string>& texts, Node next);
  Node Choice(const std::vector<Node>& ways);  // none of them: nothing fits
  Node Call(int32_t rule, Node next);
  // `rule` must not fit the empty text.
  Node Repeat(int32_t rule, uint32_t least, uint32_t most, Node next);

  // A rule may be called before it is defined. Its steps lead to Grammar::kReturn.
  int32_t NewRule();
  void Define(int32_t rule, Node start);
  int32_t Rule(Node start);  // both

  // Returns whether there are more steps than a grammar may have; whoever builds should stop then.
  bool too_large() const;
  // InvalidArgument: no text fits. ResourceExhausted: too many steps.
  absl::StatusOr<Grammar> Finish(Node start) &&;

 private:
  Node Add(const GrammarStep& step);

  const ByteSet writable_;
  Grammar made_;
  absl::flat_hash_map<std::string, int32_t> set_numbers_;
};

}  // namespace onward::generation
