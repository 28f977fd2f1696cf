// Which tokens may come where a text stands in a grammar. What is found out is kept, for all texts
// with the grammar.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "generation/grammar/grammar.h"
#include "generation/grammar/grammar_states.h"
#include "generation/grammar/token_order.h"

namespace onward::generation {

// Thread-safe.
class GrammarMasks {
 public:
  using Mask = std::vector<uint64_t>;  // a bit for each token

  GrammarMasks(Grammar grammar, std::shared_ptr<const TokenOrder> tokens);

  const TokenOrder& tokens() const { return *tokens_; }

 private:
  friend class GrammarPlace;
  struct Store;

  Mask MaskOf(GrammarStates& states, GrammarStates::State state) const;

  const std::shared_ptr<const Grammar> grammar_;
  const std::shared_ptr<const TokenOrder> tokens_;
  std::mutex mutex_;  // guards the store and what is in it
  std::shared_ptr<Store> store_;
};

// The place of one text in a grammar. Not thread-safe; its masks are.
class GrammarPlace {
 public:
  explicit GrammarPlace(std::shared_ptr<GrammarMasks> masks);

  const GrammarMasks& masks() const { return *masks_; }
  // The tokens that may come next. If there is none and the text may not end, the vocabulary cannot
  // write what the grammar wants.
  std::shared_ptr<const GrammarMasks::Mask> Allowed();
  bool MayEnd() const;
  bool Ends() const;  // nothing may follow
  // False: it does not fit.
  bool Take(std::string_view bytes);

 private:
  // Under the lock: moves to a new store where the old one is full.
  void Refresh();

  const std::shared_ptr<GrammarMasks> masks_;
  std::shared_ptr<GrammarMasks::Store> store_;
  GrammarStates::State state_;
};

}  // namespace onward::generation
