#include "generation/grammar/grammar.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <string>

namespace onward::generation {
namespace {

constexpr size_t kMostSteps = size_t{1} << 17;
constexpr size_t kMostSets = 4096;
// Calls inside each other beside those that a text needs; a value of JSON in another takes three.
constexpr int32_t kMoreDepth = 96;

}  // namespace

int32_t Grammar::HeightOf(const GrammarStep& step) const {
  const auto of = [this](Node node) { return heights_[static_cast<size_t>(node)]; };
  const auto called = [&] {
    const int32_t inside = of(rule(step.what));
    return inside == kNever ? kNever : inside + 1;
  };
  switch (step.kind) {
    case GrammarStepKind::kBytes:
      return sets_[static_cast<size_t>(step.what)].none() ? kNever : of(step.next);
    case GrammarStepKind::kChoice: {
      int32_t least = kNever;
      for (int32_t i = 0; i < step.next; ++i) least = std::min(least, of(way(step, i)));
      return least;
    }
    case GrammarStepKind::kCall:
      return std::max(called(), of(step.next));
    case GrammarStepKind::kRepeat:
      return step.least == 0 ? of(step.next) : std::max(called(), of(step.next));
    default:
      return 0;
  }
}

// The least first, so that each is final when it is found (Knuth's extension of Dijkstra's method).
void Grammar::FindHeights() {
  std::vector<std::vector<Node>> users(steps_.size());  // steps whose height needs this one's
  for (size_t i = 0; i < steps_.size(); ++i) {
    const GrammarStep& step = steps_[i];
    const auto user = static_cast<Node>(i);
    if (step.kind == GrammarStepKind::kChoice) {
      for (int32_t j = 0; j < step.next; ++j)
        users[static_cast<size_t>(way(step, j))].push_back(user);
      continue;
    }
    users[static_cast<size_t>(step.next)].push_back(user);
    if (step.kind == GrammarStepKind::kCall || step.kind == GrammarStepKind::kRepeat)
      users[static_cast<size_t>(rule(step.what))].push_back(user);
  }
  heights_.assign(steps_.size(), kNever);
  using Found = std::pair<int32_t, Node>;
  std::priority_queue<Found, std::vector<Found>, std::greater<>> found;
  found.emplace(0, kReturn);
  found.emplace(0, kEnd);
  while (!found.empty()) {
    const auto [height, node] = found.top();
    found.pop();
    if (this->height(node) != kNever) continue;
    heights_[static_cast<size_t>(node)] = height;
    for (const Node user : users[static_cast<size_t>(node)]) {
      const int32_t made = HeightOf(steps_[static_cast<size_t>(user)]);
      if (made != kNever && this->height(user) == kNever) found.emplace(made, user);
    }
  }
}

void Grammar::FindClasses() {
  std::map<std::vector<bool>, uint8_t> numbers;
  for (size_t byte = 0; byte < 256; ++byte) {
    std::vector<bool> in(sets_.size());
    for (size_t i = 0; i < sets_.size(); ++i) in[i] = sets_[i][byte];
    const auto [at, added] = numbers.try_emplace(in, static_cast<uint8_t>(class_bytes_.size()));
    if (added) class_bytes_.push_back(static_cast<uint8_t>(byte));
    class_of_[byte] = at->second;
  }
}

GrammarBuilder::GrammarBuilder(const ByteSet& writable) : writable_(writable) {
  Add({.kind = GrammarStepKind::kReturn});
  Add({.kind = GrammarStepKind::kEnd});
}

GrammarBuilder::Node GrammarBuilder::Add(const GrammarStep& step) {
  if (too_large()) return Grammar::kReturn;
  made_.steps_.push_back(step);
  return static_cast<Node>(made_.steps_.size() - 1);
}

GrammarBuilder::Node GrammarBuilder::Bytes(const ByteSet& set, Node next) {
  if (too_large()) return Grammar::kReturn;
  const ByteSet kept = set & writable_;
  const auto [at, added] =
      set_numbers_.try_emplace(kept.to_string(), static_cast<int32_t>(made_.sets_.size()));
  if (added) made_.sets_.push_back(kept);
  return Add({.kind = GrammarStepKind::kBytes, .what = at->second, .next = next});
}

GrammarBuilder::Node GrammarBuilder::Range(uint8_t first, uint8_t last, Node next) {
  ByteSet set;
  for (size_t byte = first; byte <= last; ++byte) set.set(byte);
  return Bytes(set, next);
}

GrammarBuilder::Node GrammarBuilder::Text(std::string_view text, Node next) {
  for (size_t i = text.size(); i > 0; --i) {
    const auto byte = static_cast<uint8_t>(text[i - 1]);
    next = Range(byte, byte, next);
  }
  return next;
}

GrammarBuilder::Node GrammarBuilder::OneOf(const std::vector<std::string>& texts, Node next) {
  struct Branch {
    std::map<uint8_t, size_t> children;
    bool ends = false;
  };
  std::vector<Branch> tree(1);
  for (const std::string& text : texts) {
    size_t at = 0;
    for (const char c : text) {
      const auto [child, added] = tree[at].children.try_emplace(static_cast<uint8_t>(c), 0);
      if (added) {
        const size_t made = child->second = tree.size();
        tree.emplace_back();
        at = made;
      } else {
        at = child->second;
      }
    }
    tree[at].ends = true;
  }
  std::vector<Node> nodes(tree.size());
  for (size_t i = tree.size(); i-- > 0;) {  // children have larger numbers
    std::vector<Node> ways;
    for (const auto& [byte, child] : tree[i].children)
      ways.push_back(Range(byte, byte, nodes[child]));
    if (tree[i].ends) ways.push_back(next);
    nodes[i] = Choice(ways);
  }
  return nodes[0];
}

GrammarBuilder::Node GrammarBuilder::Choice(const std::vector<Node>& ways) {
  if (ways.size() == 1) return ways[0];
  if (made_.ways_.size() + ways.size() > 2 * kMostSteps) return Add({});  // too large soon
  const auto first = static_cast<int32_t>(made_.ways_.size());
  made_.ways_.insert(made_.ways_.end(), ways.begin(), ways.end());
  return Add(
      {.kind = GrammarStepKind::kChoice, .what = first, .next = static_cast<int32_t>(ways.size())});
}

GrammarBuilder::Node GrammarBuilder::Call(int32_t rule, Node next) {
  return Add({.kind = GrammarStepKind::kCall, .what = rule, .next = next});
}

GrammarBuilder::Node GrammarBuilder::Repeat(int32_t rule, uint32_t least, uint32_t most,
                                            Node next) {
  if (most == 0) return next;
  if (least == 1 && most == 1) return Call(rule, next);
  return Add(
      {.kind = GrammarStepKind::kRepeat, .what = rule, .next = next, .least = least, .most = most});
}

int32_t GrammarBuilder::NewRule() {
  made_.rules_.push_back(Grammar::kReturn);
  return static_cast<int32_t>(made_.rules_.size() - 1);
}

void GrammarBuilder::Define(int32_t rule, Node start) {
  made_.rules_[static_cast<size_t>(rule)] = start;
}

int32_t GrammarBuilder::Rule(Node start) {
  const int32_t rule = NewRule();
  Define(rule, start);
  return rule;
}

bool GrammarBuilder::too_large() const {
  return made_.steps_.size() >= kMostSteps || made_.sets_.size() >= kMostSets ||
         made_.ways_.size() >= 2 * kMostSteps;
}

absl::StatusOr<Grammar> GrammarBuilder::Finish(Node start) && {
  if (too_large()) return absl::ResourceExhaustedError("the grammar is too large");
  made_.start_ = start;
  made_.FindHeights();
  if (made_.height(start) == Grammar::kNever)
    return absl::InvalidArgumentError("no text fits the grammar");
  made_.FindClasses();
  made_.most_depth_ = made_.height(start) + kMoreDepth;
  return std::move(made_);
}

}  // namespace onward::generation
