// Byte pair encoding of one word: neighbours become one token, the earliest merge of the list
// first.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace onward::tokenizer {

class BpeMerges {
 public:
  // The last rank of a pair counts.
  void Add(int64_t left, int64_t right, uint32_t rank, int64_t made) {
    merges_[Key(left, right)] = {rank, static_cast<uint32_t>(made)};
  }

  // Merges `ids` from `begin` on. n symbols take n log n steps.
  void Apply(std::vector<int64_t>& ids, size_t begin) const;

 private:
  struct Merge {
    uint32_t rank, made;
  };
  struct Symbol;
  struct Candidate;
  class Word;

  // Ids are below 2^31.
  static uint64_t Key(int64_t left, int64_t right) {
    return static_cast<uint64_t>(left) << 32 | static_cast<uint64_t>(right);
  }

  absl::flat_hash_map<uint64_t, Merge> merges_;
};

}  // namespace onward::tokenizer
