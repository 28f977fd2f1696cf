// The places of a grammar that the bytes of a text may have led to, each with the rules that
// called it. States are numbers, so that what is found out about one is kept.
#pragma once

#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "generation/grammar/grammar.h"

namespace onward::generation {

// Not thread-safe.
class GrammarStates {
 public:
  using State = int32_t;
  static constexpr State kNone = -1;

  explicit GrammarStates(std::shared_ptr<const Grammar> grammar);

  State start() const { return start_; }
  // kNone: the byte may not come. Every state has a byte that may come, or may end.
  State Next(State state, uint8_t byte);
  bool MayEnd(State state) const { return of(state).may_end; }
  // Returns whether nothing may follow.
  bool Ends(State state) const { return of(state).may_end && of(state).places.size() == 1; }

  // The state that stands for all that take the same texts of up to `bytes` bytes.
  State Alike(State state, uint32_t bytes);
  // A state of another one with the same grammar.
  State Adopt(const GrammarStates& other, State state);

  // Returns whether there are so many that a new one should be begun.
  bool full() const;
  uint64_t work() const { return work_; }  // places that were looked at

 private:
  // A rule that was called, or one that is repeated and the times that it still may come.
  struct Frame {
    Grammar::Node node;  // what follows, or the repetition
    uint32_t needed, left;
    int32_t caller;  // -1: none
    int32_t depth;
  };
  struct Place {
    Grammar::Node node;
    int32_t frame;
    auto operator<=>(const Place&) const = default;
  };
  struct Known {
    std::vector<Place> places;
    std::vector<State> next;  // by class of bytes; kUnknown
    bool may_end = false;
  };
  static constexpr State kUnknown = -2;
  class Closure;

  const Known& of(State state) const { return states_[static_cast<size_t>(state)]; }
  int32_t Push(Grammar::Node node, uint32_t needed, uint32_t left, int32_t caller);
  int32_t DepthOf(int32_t frame) const {
    return frame < 0 ? 0 : frames_[static_cast<size_t>(frame)].depth;
  }
  State Number(std::vector<Place> places);

  const std::shared_ptr<const Grammar> grammar_;
  std::vector<Frame> frames_;
  absl::flat_hash_map<std::tuple<int32_t, uint32_t, uint32_t, int32_t>, int32_t> frame_numbers_;
  std::vector<Known> states_;
  absl::flat_hash_map<std::vector<std::pair<int32_t, int32_t>>, State> state_numbers_;
  uint64_t work_ = 0;
  size_t bytes_ = 0;  // of the states
  State start_ = kNone;
};

}  // namespace onward::generation
