#include "files/tokenizer/prefix_tree.h"

namespace onward::tokenizer {

void PrefixTree::Add(std::string_view key, int64_t value) {
  Node node = kRoot;
  for (const char byte : key) {
    const auto [child, inserted] =
        children_.try_emplace(Edge(node, byte), static_cast<Node>(values_.size()));
    if (inserted) values_.push_back(-1);
    node = child->second;
  }
  if (node != kRoot) values_[node] = value;
}

std::optional<PrefixTree::Node> PrefixTree::Find(std::string_view key) const {
  Node node = kRoot;
  for (const char byte : key) {
    const auto child = children_.find(Edge(node, byte));
    if (child == children_.end()) return std::nullopt;
    node = child->second;
  }
  return node;
}

PrefixTree::Match PrefixTree::Longest(std::string_view text, Node from) const {
  Match longest;
  Prefixes(
      text,
      [&](size_t bytes, int64_t value) {
        longest = {bytes, value};
      },
      from);
  return longest;
}

}  // namespace onward::tokenizer
