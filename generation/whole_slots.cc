// Decoders without caches: each run sees all tokens of its rows.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "generation/decoder_slots.h"
#include "generation/decoder_tensors.h"
#include "onward/status.h"

namespace onward::generation {
namespace {

class WholeSlots : public DecoderSlots {
 public:
  WholeSlots(std::unique_ptr<Session> session, DecoderSignature signature, int64_t context,
             int64_t slots)
      : DecoderSlots(std::move(session), std::move(signature), context, slots) {}

  std::vector<absl::Status> Read(absl::Span<const SlotFeed> feeds, SeeScores see) override {
    std::vector<absl::Status> results(feeds.size());
    for (size_t i = 0; i < feeds.size(); ++i) {
      std::vector<int64_t>& tokens = tokens_[feeds[i].slot];
      tokens.insert(tokens.end(), feeds[i].tokens.begin(), feeds[i].tokens.end());
      if (feeds[i].every_place) results[i] = ScorePlaces(feeds[i], i, see);
    }
    // Rows of one length share a run.
    std::vector<size_t> order;
    for (size_t i = 0; i < feeds.size(); ++i) {
      if (!feeds[i].every_place) order.push_back(i);
    }
    const auto length = [&](size_t i) { return tokens_[feeds[i].slot].size(); };
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return length(a) < length(b); });
    for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
      for (end = begin + 1; signature_.any_batch && end < order.size() &&
                            length(order[end]) == length(order[begin]);)
        ++end;
      const absl::Status status =
          RunLast(feeds, absl::MakeConstSpan(order).subspan(begin, end - begin), see);
      for (size_t i = begin; i < end; ++i) results[order[i]] = status;
    }
    for (size_t i = 0; i < feeds.size(); ++i) {
      std::vector<int64_t>& tokens = tokens_[feeds[i].slot];
      if (!results[i].ok()) tokens.resize(tokens.size() - feeds[i].tokens.size());
    }
    return results;
  }

  void Cut(size_t slot, size_t length) override {
    tokens_[slot].resize(std::min(length, tokens_[slot].size()));
  }
  bool remembers() const override { return false; }
  bool together() const override { return false; }

 private:
  size_t Window(size_t length) const {
    return context_ > 0 ? std::min(length, static_cast<size_t>(context_)) : length;
  }

  absl::Status RunLast(absl::Span<const SlotFeed> feeds, absl::Span<const size_t> group,
                       SeeScores see) {
    const size_t length = tokens_[feeds[group[0]].slot].size(), width = Window(length);
    std::vector<absl::Span<const int64_t>> rows;
    for (const size_t i : group)
      rows.push_back(absl::MakeConstSpan(tokens_[feeds[i].slot]).subspan(length - width));
    ONWARD_RETURN_IF_ERROR(Run(rows).status());
    for (size_t k = 0; k < group.size(); ++k) {
      std::vector<float> scores =
          ScoresAt(outputs_[signature_.scores].tensor(), static_cast<int64_t>(k),
                   static_cast<int64_t>(width) - 1);
      see(group[k], feeds[group[k]].tokens.size() - 1, absl::MakeSpan(scores));
    }
    return absl::OkStatus();
  }

  // The places that one run scores together, then each with the window that ends there.
  absl::Status ScorePlaces(const SlotFeed& feed, size_t index, SeeScores see) {
    const absl::Span<const int64_t> all(tokens_[feed.slot]);
    const size_t first = all.size() - feed.tokens.size();
    bool at_once = true;
    for (size_t at = first; at < all.size();) {
      const size_t end = at_once ? std::max(Window(all.size()), at + 1) : at + 1;
      const size_t width = Window(end);
      ONWARD_ASSIGN_OR_RETURN(const bool every, Run({all.subspan(end - width, width)}));
      if (!every && end > at + 1) {
        at_once = false;
        continue;
      }
      for (; at < end; ++at) {
        std::vector<float> scores = ScoresAt(outputs_[signature_.scores].tensor(), 0,
                                             static_cast<int64_t>(width - (end - at)));
        see(index, at - first, absl::MakeSpan(scores));
      }
    }
    return absl::OkStatus();
  }

  // Returns whether every place has scores.
  absl::StatusOr<bool> Run(const std::vector<absl::Span<const int64_t>>& rows) {
    const size_t count = rows[0].size();
    const size_t width = signature_.length ? static_cast<size_t>(*signature_.length) : count;
    std::vector<Value> inputs(session_->inputs().size());
    inputs[signature_.tokens] =
        IdTensor(IdType(signature_.tokens), rows.size(), width,
                 [&](size_t row, size_t i) { return i < count ? rows[row][i] : 0; });
    if (signature_.positions) {
      inputs[*signature_.positions] =
          IdTensor(IdType(*signature_.positions), rows.size(), width,
                   [](size_t, size_t i) { return static_cast<int64_t>(i); });
    }
    if (signature_.mask) {
      inputs[*signature_.mask] = IdTensor(IdType(*signature_.mask), rows.size(), width,
                                          [&](size_t, size_t i) { return int64_t{i < count}; });
    }
    outputs_.resize(session_->outputs().size());
    ONWARD_RETURN_IF_ERROR(session_->Run(inputs, absl::MakeSpan(outputs_), options_));
    ONWARD_ASSIGN_OR_RETURN(const int64_t places, ScoredPlaces(outputs_[signature_.scores],
                                                               static_cast<int64_t>(rows.size()),
                                                               static_cast<int64_t>(width)));
    if (places == 1 && count != width) {
      return absl::InvalidArgumentError(absl::StrCat("the model scores only the last of ", width,
                                                     " tokens, and there are ", count));
    }
    return places == static_cast<int64_t>(width);
  }
};

}  // namespace

std::unique_ptr<DecoderSlots> MakeWholeSlots(std::unique_ptr<Session> session,
                                             DecoderSignature signature, int64_t context,
                                             int64_t slots) {
  return std::make_unique<WholeSlots>(std::move(session), std::move(signature), context, slots);
}

}  // namespace onward::generation
