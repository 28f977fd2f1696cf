#include "generation/grammar/grammar_masks.h"

#include <utility>

namespace onward::generation {
namespace {

// Places that are looked at for one mask: a grammar of many ways at once would take seconds. Tokens
// of one byte are looked at in any case, so that a text can always continue.
constexpr uint64_t kMostWork = 300000;
constexpr size_t kManyBytes = size_t{8} << 20;  // of masks

}  // namespace

struct GrammarMasks::Store {
  explicit Store(const std::shared_ptr<const Grammar>& grammar) : states(grammar) {}

  GrammarStates states;
  absl::flat_hash_map<GrammarStates::State, std::shared_ptr<const Mask>> masks;
  size_t bytes = 0;

  bool full() const { return states.full() || bytes > kManyBytes; }
};

GrammarMasks::GrammarMasks(Grammar grammar, std::shared_ptr<const TokenOrder> tokens)
    : grammar_(std::make_shared<const Grammar>(std::move(grammar))),
      tokens_(std::move(tokens)),
      store_(std::make_shared<Store>(grammar_)) {}

// Neighbours begin alike, so that each beginning is looked at once.
GrammarMasks::Mask GrammarMasks::MaskOf(GrammarStates& states, GrammarStates::State state) const {
  Mask mask(static_cast<size_t>(tokens_->size() + 63) / 64);
  const uint64_t most_work = states.work() + kMostWork;
  std::vector<GrammarStates::State> path(tokens_->longest() + size_t{1});
  path[0] = state;
  for (size_t byte = 0; byte < 256; ++byte) {
    path[1] = states.Next(state, static_cast<uint8_t>(byte));
    if (path[1] == GrammarStates::kNone) continue;
    size_t fits = 1;  // bytes of the token before that may come
    bool all = true;  // all of them
    for (size_t i = tokens_->begin(byte); i < tokens_->begin(byte + 1); ++i) {
      const TokenOrder::Token& token = tokens_->tokens()[i];
      if (!all && token.shared > fits) continue;
      fits = i == tokens_->begin(byte) ? 1 : std::min(fits, token.shared);
      all = true;
      for (; fits < token.bytes.size(); ++fits) {
        if (states.work() > most_work) all = false;
        if (all) path[fits + 1] = states.Next(path[fits], static_cast<uint8_t>(token.bytes[fits]));
        if (!all || path[fits + 1] == GrammarStates::kNone) {
          all = false;
          break;
        }
      }
      const auto id = static_cast<size_t>(token.id);
      if (all) mask[id / 64] |= uint64_t{1} << id % 64;
    }
  }
  return mask;
}

GrammarPlace::GrammarPlace(std::shared_ptr<GrammarMasks> masks) : masks_(std::move(masks)) {
  const std::lock_guard lock(masks_->mutex_);
  store_ = masks_->store_;
  state_ = store_->states.start();
}

void GrammarPlace::Refresh() {
  if (!store_->full() || state_ == GrammarStates::kNone) return;
  if (masks_->store_ == store_)
    masks_->store_ = std::make_shared<GrammarMasks::Store>(masks_->grammar_);
  state_ = masks_->store_->states.Adopt(store_->states, state_);
  store_ = masks_->store_;
}

std::shared_ptr<const GrammarMasks::Mask> GrammarPlace::Allowed() {
  const std::lock_guard lock(masks_->mutex_);
  Refresh();
  const TokenOrder& tokens = masks_->tokens();
  if (state_ == GrammarStates::kNone)
    return std::make_shared<GrammarMasks::Mask>(static_cast<size_t>(tokens.size() + 63) / 64);
  GrammarStates& states = store_->states;
  const GrammarStates::State alike = states.Alike(state_, tokens.longest());
  std::shared_ptr<const GrammarMasks::Mask>& known = store_->masks[alike];
  if (known == nullptr) {
    known = std::make_shared<const GrammarMasks::Mask>(masks_->MaskOf(states, alike));
    store_->bytes += known->size() * sizeof(uint64_t);
  }
  return known;
}

bool GrammarPlace::MayEnd() const {
  const std::lock_guard lock(masks_->mutex_);
  return state_ != GrammarStates::kNone && store_->states.MayEnd(state_);
}

bool GrammarPlace::Ends() const {
  const std::lock_guard lock(masks_->mutex_);
  return state_ != GrammarStates::kNone && store_->states.Ends(state_);
}

bool GrammarPlace::Take(std::string_view bytes) {
  const std::lock_guard lock(masks_->mutex_);
  for (const char byte : bytes) {
    if (state_ == GrammarStates::kNone) return false;
    state_ = store_->states.Next(state_, static_cast<uint8_t>(byte));
  }
  return state_ != GrammarStates::kNone;
}

}  // namespace onward::generation
