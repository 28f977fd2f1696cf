// Keys as a tree of bytes: which of them does a text begin with?
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace onward::tokenizer {

class PrefixTree {
 public:
  using Node = uint32_t;
  static constexpr Node kRoot = 0;

  // The last value of a key counts. Values are not negative.
  void Add(std::string_view key, int64_t value);

  // The node that `key` leads to.
  std::optional<Node> Find(std::string_view key) const;

  // Calls visit(bytes, value) for each key that `text` begins with, below `from`, shortest first.
  template <typename Visit>
  void Prefixes(std::string_view text, Visit visit, Node from = kRoot) const {
    for (size_t i = 0; i < text.size(); ++i) {
      const auto child = children_.find(Edge(from, text[i]));
      if (child == children_.end()) return;
      from = child->second;
      if (values_[from] >= 0) visit(i + 1, values_[from]);
    }
  }

  struct Match {
    size_t bytes = 0;
    int64_t value = -1;
  };
  // No bytes: none.
  Match Longest(std::string_view text, Node from = kRoot) const;

 private:
  static uint64_t Edge(Node node, char byte) {
    return uint64_t{node} << 8 | static_cast<uint8_t>(byte);
  }

  absl::flat_hash_map<uint64_t, Node> children_;
  std::vector<int64_t> values_{-1};  // by node; -1: only the beginning of keys
};

}  // namespace onward::tokenizer
