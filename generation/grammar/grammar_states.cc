#include "generation/grammar/grammar_states.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"

namespace onward::generation {
namespace {

// Ambiguous grammars have states of more; what is left out is never chosen, which stays right.
constexpr size_t kMostPlaces = 512;
constexpr size_t kManyBytes = size_t{16} << 20, kManyFrames = 200000;

}  // namespace

// The places that steps without bytes lead to.
class GrammarStates::Closure {
 public:
  explicit Closure(GrammarStates& states) : states_(states), grammar_(*states.grammar_) {}

  void Enter(Grammar::Node node, int32_t frame) {
    if (places_.size() + open_.size() >= 2 * kMostPlaces) return;
    const int32_t height = grammar_.height(node);
    if (height > grammar_.most_depth() - states_.DepthOf(frame)) return;
    if (seen_.emplace(node, frame).second) open_.push_back({node, frame});
  }

  std::vector<Place> Take() {
    while (!open_.empty()) {
      const Place place = open_.back();
      open_.pop_back();
      ++states_.work_;
      Follow(place);
    }
    std::sort(places_.begin(), places_.end());
    return std::move(places_);
  }

 private:
  void Follow(const Place& place) {
    const GrammarStep& step = grammar_.step(place.node);
    switch (step.kind) {
      case GrammarStepKind::kBytes:
      case GrammarStepKind::kEnd:
        if (places_.size() < kMostPlaces) places_.push_back(place);
        return;
      case GrammarStepKind::kChoice:
        for (int32_t i = step.next; i-- > 0;) Enter(grammar_.way(step, i), place.frame);
        return;
      case GrammarStepKind::kCall: {
        // A call whose caller returns at once need not be returned to.
        const bool last = grammar_.step(step.next).kind == GrammarStepKind::kReturn;
        Enter(grammar_.rule(step.what),
              last ? place.frame : states_.Push(step.next, 0, 0, place.frame));
        return;
      }
      case GrammarStepKind::kRepeat:
        return Again(place.node, step.least, step.most, place.frame);
      case GrammarStepKind::kReturn: {
        const Frame frame = states_.frames_[static_cast<size_t>(place.frame)];
        if (grammar_.step(frame.node).kind != GrammarStepKind::kRepeat || frame.left == 0)
          return Enter(frame.node, frame.caller);
        const uint32_t left = frame.left == kNoLimit ? kNoLimit : frame.left - 1;
        return Again(frame.node, frame.needed == 0 ? 0 : frame.needed - 1, left, frame.caller);
      }
    }
  }

  void Again(Grammar::Node repeat, uint32_t needed, uint32_t left, int32_t caller) {
    const GrammarStep& step = grammar_.step(repeat);
    if (needed == 0) Enter(step.next, caller);
    if (left > 0) Enter(grammar_.rule(step.what), states_.Push(repeat, needed, left, caller));
  }

  GrammarStates& states_;
  const Grammar& grammar_;
  std::vector<Place> open_, places_;
  absl::flat_hash_set<std::pair<int32_t, int32_t>> seen_;
};

GrammarStates::GrammarStates(std::shared_ptr<const Grammar> grammar)
    : grammar_(std::move(grammar)) {
  Closure closure(*this);
  closure.Enter(grammar_->start(), -1);
  start_ = Number(closure.Take());
}

int32_t GrammarStates::Push(Grammar::Node node, uint32_t needed, uint32_t left, int32_t caller) {
  const auto [at, added] = frame_numbers_.try_emplace(std::tuple(node, needed, left, caller),
                                                      static_cast<int32_t>(frames_.size()));
  if (added) frames_.push_back({node, needed, left, caller, DepthOf(caller) + 1});
  return at->second;
}

GrammarStates::State GrammarStates::Number(std::vector<Place> places) {
  if (places.empty()) return kNone;
  std::vector<std::pair<int32_t, int32_t>> key;
  key.reserve(places.size());
  for (const Place& place : places) key.emplace_back(place.node, place.frame);
  const auto [at, added] =
      state_numbers_.try_emplace(std::move(key), static_cast<State>(states_.size()));
  if (!added) return at->second;
  Known known;
  for (const Place& place : places)
    known.may_end = known.may_end || grammar_->step(place.node).kind == GrammarStepKind::kEnd;
  known.places = std::move(places);
  known.next.assign(grammar_->classes(), kUnknown);
  bytes_ += 2 * known.places.size() * sizeof(Place) + known.next.size() * sizeof(State);
  states_.push_back(std::move(known));
  return at->second;
}

GrammarStates::State GrammarStates::Next(State state, uint8_t byte) {
  const uint8_t byte_class = grammar_->class_of(byte);
  if (const State known = of(state).next[byte_class]; known != kUnknown) return known;
  Closure closure(*this);
  work_ += of(state).places.size();
  for (const Place& place : of(state).places) {
    const GrammarStep& step = grammar_->step(place.node);
    if (step.kind == GrammarStepKind::kBytes && grammar_->Has(step, byte))
      closure.Enter(step.next, place.frame);
  }
  const State next = Number(closure.Take());
  states_[static_cast<size_t>(state)].next[byte_class] = next;
  return next;
}

// No more than `bytes` repetitions fit into as many bytes.
GrammarStates::State GrammarStates::Alike(State state, uint32_t bytes) {
  absl::flat_hash_map<int32_t, int32_t> known;
  std::vector<Place> places = of(state).places;
  for (Place& place : places) {
    std::vector<int32_t> path;  // from the place outwards
    int32_t made = place.frame;
    for (; made >= 0 && !known.contains(made); made = frames_[static_cast<size_t>(made)].caller)
      path.push_back(made);
    if (made >= 0) made = known[made];
    for (size_t i = path.size(); i-- > 0;) {
      const Frame frame = frames_[static_cast<size_t>(path[i])];
      const uint32_t left = frame.left == kNoLimit ? kNoLimit : std::min(frame.left, bytes + 1);
      made = Push(frame.node, std::min(frame.needed, bytes + 1), left, made);
      known[path[i]] = made;
    }
    place.frame = made;
  }
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return Number(std::move(places));
}

GrammarStates::State GrammarStates::Adopt(const GrammarStates& other, State state) {
  std::vector<Place> places = other.of(state).places;
  for (Place& place : places) {
    std::vector<int32_t> path;
    for (int32_t at = place.frame; at >= 0; at = other.frames_[static_cast<size_t>(at)].caller)
      path.push_back(at);
    place.frame = -1;
    for (size_t i = path.size(); i-- > 0;) {
      const Frame& frame = other.frames_[static_cast<size_t>(path[i])];
      place.frame = Push(frame.node, frame.needed, frame.left, place.frame);
    }
  }
  std::sort(places.begin(), places.end());
  return Number(std::move(places));
}

bool GrammarStates::full() const { return bytes_ > kManyBytes || frames_.size() > kManyFrames; }

}  // namespace onward::generation
