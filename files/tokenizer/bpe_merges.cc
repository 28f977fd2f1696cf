#include "files/tokenizer/bpe_merges.h"

#include <queue>

namespace onward::tokenizer {

// A link of the word's list; dead ones have been merged into their left neighbours.
struct BpeMerges::Symbol {
  int64_t id;
  int64_t previous, next;  // -1: none
  bool dead;
};

struct BpeMerges::Candidate {
  Merge merge;
  int64_t at;  // the left symbol

  bool operator<(const Candidate& other) const {  // the best is on top
    if (merge.rank != other.merge.rank) return merge.rank > other.merge.rank;
    return at > other.at;
  }
};

class BpeMerges::Word {
 public:
  Word(const BpeMerges& merges, const std::vector<int64_t>& ids, size_t begin) : merges_(merges) {
    const auto count = static_cast<int64_t>(ids.size() - begin);
    symbols_.reserve(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i)
      symbols_.push_back(
          {ids[begin + static_cast<size_t>(i)], i - 1, i + 1 < count ? i + 1 : -1, false});
    for (int64_t i = 0; i + 1 < count; ++i) Offer(i);
  }

  void MergeAll() {
    while (!queue_.empty()) {
      const Candidate best = queue_.top();
      queue_.pop();
      Symbol& left = symbols_[static_cast<size_t>(best.at)];
      // The pair may have been merged away since.
      const Merge* merge = left.dead ? nullptr : Find(left);
      if (merge == nullptr || merge->made != best.merge.made) continue;
      Symbol& right = symbols_[static_cast<size_t>(left.next)];
      left.id = best.merge.made;
      right.dead = true;
      left.next = right.next;
      if (left.next >= 0) symbols_[static_cast<size_t>(left.next)].previous = best.at;
      if (left.previous >= 0) Offer(left.previous);
      Offer(best.at);
    }
  }

  void Write(std::vector<int64_t>& ids, size_t begin) const {
    ids.resize(begin);
    for (const Symbol& symbol : symbols_)
      if (!symbol.dead) ids.push_back(symbol.id);
  }

 private:
  const Merge* Find(const Symbol& left) const {
    if (left.next < 0) return nullptr;
    const auto found =
        merges_.merges_.find(Key(left.id, symbols_[static_cast<size_t>(left.next)].id));
    return found == merges_.merges_.end() ? nullptr : &found->second;
  }
  void Offer(int64_t at) {
    if (const Merge* merge = Find(symbols_[static_cast<size_t>(at)])) queue_.push({*merge, at});
  }

  const BpeMerges& merges_;
  std::vector<Symbol> symbols_;
  std::priority_queue<Candidate> queue_;
};

void BpeMerges::Apply(std::vector<int64_t>& ids, size_t begin) const {
  if (ids.size() - begin < 2) return;
  Word word(*this, ids, begin);
  word.MergeAll();
  word.Write(ids, begin);
}

}  // namespace onward::tokenizer
