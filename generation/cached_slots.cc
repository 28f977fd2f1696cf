// Decoders with caches. Rows run together, whatever they hold, where caches that are written in
// place count for each row, or where a mask hides what a row does not hold; else one by one.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "generation/decoder_slots.h"
#include "generation/decoder_tensors.h"
#include "generation/slot_caches.h"
#include "onward/status.h"

namespace onward::generation {
namespace {

// Rows [begin, end), of which some read `width` tokens each; the others are company.
struct Batch {
  size_t begin, end, width;
  std::vector<const int64_t*> tokens;  // null: company
};

class CachedSlots : public DecoderSlots {
 public:
  CachedSlots(std::unique_ptr<Session> session, DecoderSignature signature, int64_t context,
              int64_t slots, CacheForm form, const std::string& provider)
      : DecoderSlots(std::move(session), std::move(signature), context, slots),
        form_(form),
        shared_(session_->inputs(), signature_.caches, slots, context, provider),
        own_(static_cast<size_t>(slots)) {}

  std::vector<absl::Status> Read(absl::Span<const SlotFeed> feeds, SeeScores see) override {
    std::vector<absl::Status> results(feeds.size());
    std::vector<size_t> singles;
    for (size_t i = 0; i < feeds.size(); ++i) {
      if (together_ && feeds[i].tokens.size() == 1) {
        singles.push_back(i);
      } else {
        results[i] = ReadAlone(feeds[i], i, see);
      }
    }
    if (singles.empty()) return results;
    const absl::Status status = ReadTogether(feeds, singles, see);
    for (const size_t i : singles) results[i] = status;
    return results;
  }

  void Cut(size_t slot, size_t length) override {
    std::vector<int64_t>& tokens = tokens_[slot];
    if (length >= tokens.size()) return;
    tokens.resize(length);
    for (size_t i = 0; i < own_[slot].size(); ++i)
      own_[slot][i] = Begin(i, own_[slot][i].tensor(), static_cast<int64_t>(length));
  }

  bool remembers() const override { return true; }
  bool together() const override { return together_; }

  // Lets rows run together if they then have the scores that they have alone.
  void TryTogether();

 private:
  bool counts() const { return form_ == CacheForm::kCounted || form_ == CacheForm::kShared; }
  bool in_place() const { return form_ != CacheForm::kCopied; }
  bool shares() const { return in_place() || together_; }
  // The columns of a run's mask; what the run adds comes last.
  size_t Columns(const Batch& batch) const {
    return static_cast<size_t>(shared_.capacity()) + (in_place() ? 0 : batch.width);
  }

  // The first `length` tokens of a cache.
  Value Begin(size_t cache, const Tensor& all, int64_t length) const {
    const auto axis = static_cast<size_t>(signature_.caches[cache].length_axis);
    Tensor kept = EmptyCache(session_->inputs(), signature_.caches[cache], 1, length);
    CopyTokens(all, 0, 0, length, axis, kept, 0, 0);
    return kept;
  }

  absl::Status ReadTogether(absl::Span<const SlotFeed> feeds, const std::vector<size_t>& singles,
                            SeeScores see) {
    Batch batch = {tokens_.size(), 0, 1, {}};
    for (const size_t i : singles) {
      batch.begin = std::min(batch.begin, feeds[i].slot);
      batch.end = std::max(batch.end, feeds[i].slot + 1);
    }
    batch.tokens.resize(batch.end - batch.begin, nullptr);
    for (const size_t i : singles) batch.tokens[feeds[i].slot - batch.begin] = &feeds[i].tokens[0];
    ONWARD_RETURN_IF_ERROR(Run(batch).status());
    for (const size_t i : singles) See(i, 0, feeds[i].slot - batch.begin, 0, see);
    return absl::OkStatus();
  }

  absl::Status ReadAlone(const SlotFeed& feed, size_t index, SeeScores see) {
    const size_t count = feed.tokens.size(), before = tokens_[feed.slot].size();
    for (size_t at = 0; at < count;) {
      const bool one = signature_.length || (feed.every_place && scores_last_);
      const size_t width = one ? 1 : count - at;
      const absl::StatusOr<int64_t> places =
          Run({feed.slot, feed.slot + 1, width, {&feed.tokens[at]}});
      if (!places.ok()) {
        Cut(feed.slot, before);
        return places.status();
      }
      if (feed.every_place && *places < static_cast<int64_t>(width)) {
        scores_last_ = true;
        Cut(feed.slot, before + at);
        continue;
      }
      at += width;
      if (feed.every_place) {
        for (size_t i = 0; i < width; ++i) See(index, at - width + i, 0, i, see);
      } else if (at == count) {
        See(index, count - 1, 0, width - 1, see);
      }
    }
    return absl::OkStatus();
  }

  void See(size_t feed, size_t at, size_t row, size_t place, SeeScores see) const {
    std::vector<float> scores = ScoresAt(outputs_[signature_.scores].tensor(),
                                         static_cast<int64_t>(row), static_cast<int64_t>(place));
    see(feed, at, absl::MakeSpan(scores));
  }

  // Returns how many places have scores; the rows have their tokens then.
  absl::StatusOr<int64_t> Run(const Batch& batch);
  absl::Status MakeRoom(const Batch& batch);
  std::vector<Value> InputsOf(const Batch& batch) const;
  Tensor MaskOf(const Batch& batch) const;
  absl::Status TakeCaches(const Batch& batch, absl::Span<const Value> inputs);

  std::vector<std::vector<float>> Probe(bool together, size_t gap);
  void Clear();

  const CacheForm form_;
  bool together_ = false;
  bool exact_ = false;        // no room for more, so that no mask hides anything
  bool scores_last_ = false;  // the model scores the last token of a run only
  SlotCaches shared_;
  std::vector<std::vector<Value>> own_;  // of rows that do not run together
};

absl::Status CachedSlots::MakeRoom(const Batch& batch) {
  size_t most = 0;
  for (size_t row = batch.begin; row < batch.end; ++row) {
    const bool reads = batch.tokens[row - batch.begin] != nullptr;
    if (reads || form_ == CacheForm::kMasked)
      most = std::max(most, tokens_[row].size() + batch.width);
    if (shares() || !own_[row].empty()) continue;
    for (const DecoderSignature::Cache& cache : signature_.caches)
      own_[row].push_back(EmptyCache(session_->inputs(), cache, 1, 0));
  }
  if (!shares()) return absl::OkStatus();
  ONWARD_RETURN_IF_ERROR(shared_.Reserve(static_cast<int64_t>(most), exact_));
  // Company writes behind what it has.
  for (size_t row = batch.begin; row < batch.end; ++row) {
    const bool reads = batch.tokens[row - batch.begin] != nullptr;
    const auto room = static_cast<size_t>(shared_.capacity()) - batch.width;
    if (!reads && counts() && tokens_[row].size() > room) tokens_[row].resize(room);
  }
  return absl::OkStatus();
}

Tensor CachedSlots::MaskOf(const Batch& batch) const {
  const size_t rows = batch.end - batch.begin, held = tokens_[batch.begin].size();
  const DType dtype = IdType(*signature_.mask);
  if (counts() || !shares())
    return IdTensor(dtype, rows, held + batch.width, [](size_t, size_t) { return int64_t{1}; });
  const size_t columns = Columns(batch), fresh = columns - batch.width;
  return IdTensor(dtype, rows, columns, [&](size_t row, size_t i) {
    return int64_t{i >= fresh || i < tokens_[batch.begin + row].size()};
  });
}

std::vector<Value> CachedSlots::InputsOf(const Batch& batch) const {
  const size_t rows = batch.end - batch.begin;
  std::vector<Value> inputs(session_->inputs().size());
  inputs[signature_.tokens] =
      IdTensor(IdType(signature_.tokens), rows, batch.width, [&](size_t row, size_t i) {
        return batch.tokens[row] == nullptr ? int64_t{0} : batch.tokens[row][i];
      });
  if (signature_.positions) {
    inputs[*signature_.positions] =
        IdTensor(IdType(*signature_.positions), rows, batch.width, [&](size_t row, size_t i) {
          const bool company = batch.tokens[row] == nullptr && !counts();
          return static_cast<int64_t>((company ? 0 : tokens_[batch.begin + row].size()) + i);
        });
  }
  if (signature_.mask) inputs[*signature_.mask] = MaskOf(batch);
  if (counts()) {
    Tensor held(DType::kInt64, {static_cast<int64_t>(rows)});
    for (size_t row = 0; row < rows; ++row)
      held.mutable_data<int64_t>()[row] = static_cast<int64_t>(tokens_[batch.begin + row].size());
    inputs[*signature_.past_length] = std::move(held);
  }
  for (size_t i = 0; i < signature_.caches.size(); ++i) {
    inputs[signature_.caches[i].past] =
        shares() ? Value(shared_.Rows(i, static_cast<int64_t>(batch.begin),
                                      static_cast<int64_t>(batch.end)))
                 : own_[batch.begin][i];
  }
  return inputs;
}

// Keeps what the run added to the caches.
absl::Status CachedSlots::TakeCaches(const Batch& batch, absl::Span<const Value> inputs) {
  for (size_t i = 0; i < signature_.caches.size(); ++i) {
    Value& present = outputs_[signature_.caches[i].present];
    const Tensor& past = inputs[signature_.caches[i].past].tensor();
    if (!shares()) {
      own_[batch.begin][i] = std::exchange(present, Value());
      continue;
    }
    const bool written = counts() && present.tensor().raw_data() == past.raw_data();
    for (size_t row = 0; row < batch.tokens.size() && !written; ++row) {
      if (batch.tokens[row] == nullptr) continue;
      const size_t slot = batch.begin + row, held = tokens_[slot].size();
      const size_t from = counts() ? held : Columns(batch) - batch.width;
      ONWARD_RETURN_IF_ERROR(shared_.Write(i, present.tensor(), static_cast<int64_t>(row),
                                           static_cast<int64_t>(from),
                                           static_cast<int64_t>(batch.width),
                                           static_cast<int64_t>(slot), static_cast<int64_t>(held)));
    }
    if (in_place()) present = Value();
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> CachedSlots::Run(const Batch& batch) {
  ONWARD_RETURN_IF_ERROR(MakeRoom(batch));
  const std::vector<Value> inputs = InputsOf(batch);
  outputs_.resize(session_->outputs().size());
  for (const DecoderSignature::Cache& cache : signature_.caches) {
    if (in_place()) outputs_[cache.present] = inputs[cache.past];
  }
  ONWARD_RETURN_IF_ERROR(session_->Run(inputs, absl::MakeSpan(outputs_), options_));
  ONWARD_ASSIGN_OR_RETURN(
      const int64_t places,
      ScoredPlaces(outputs_[signature_.scores], static_cast<int64_t>(batch.tokens.size()),
                   static_cast<int64_t>(batch.width)));
  ONWARD_RETURN_IF_ERROR(TakeCaches(batch, inputs));
  for (size_t row = 0; row < batch.tokens.size(); ++row) {
    const int64_t* read = batch.tokens[row];
    std::vector<int64_t>& tokens = tokens_[batch.begin + row];
    if (read != nullptr) tokens.insert(tokens.end(), read, read + batch.width);
  }
  return places;
}

void CachedSlots::Clear() {
  for (std::vector<int64_t>& tokens : tokens_) tokens.clear();
  for (std::vector<Value>& caches : own_) caches.clear();
  shared_.Clear();
  outputs_.clear();
}

// The scores of two rows of different lengths behind their last tokens; none where a run fails.
std::vector<std::vector<float>> CachedSlots::Probe(bool together, size_t gap) {
  const int64_t vocabulary = signature_.vocabulary.value_or(8);
  std::vector<int64_t> tokens;
  for (int64_t i = 0; i < 8; ++i) tokens.push_back((3 * i + 1) % vocabulary);
  const absl::Span<const int64_t> first(tokens.data(), 5), second(tokens.data() + 5, 3);
  std::vector<std::vector<float>> scores(2);
  bool ok = true;
  const auto read = [&](absl::Span<const SlotFeed> feeds, size_t row) {
    const auto results = Read(feeds, [&](size_t i, size_t, absl::Span<float> all) {
      scores[row + i].assign(all.begin(), all.end());
    });
    for (const absl::Status& status : results) ok = ok && status.ok();
  };
  Clear();
  together_ = together;
  exact_ = !together && form_ == CacheForm::kMasked;
  if (together) {
    ok = shared_.Reserve(static_cast<int64_t>(gap)).ok();
    read({{0, first.first(4)}}, 0);
    read({{1, second.first(2)}}, 1);
    read({{0, first.last(1)}, {1, second.last(1)}}, 0);
  } else {
    read({{0, first.first(4)}}, 0);
    read({{0, first.last(1)}}, 0);
    Clear();
    read({{0, second.first(2)}}, 1);
    read({{0, second.last(1)}}, 1);
  }
  Clear();
  together_ = exact_ = false;
  return ok ? scores : std::vector<std::vector<float>>();
}

void CachedSlots::TryTogether() {
  if (!signature_.any_batch || tokens_.size() < 2) return;
  if (form_ == CacheForm::kShared || counts() == signature_.mask.has_value()) return;
  // Positions that a model takes from columns of the mask differ behind a wide gap.
  constexpr int64_t kMostBytes = int64_t{256} << 20, kGap = 4096;
  const int64_t bytes = shared_.bytes_of_token() * static_cast<int64_t>(tokens_.size());
  const int64_t widest = std::max<int64_t>(kMostBytes / std::max<int64_t>(bytes, 1), 1);
  const int64_t gap = counts() ? 8 : std::min(context_ > 0 ? context_ : kGap, widest);
  const auto alone = Probe(false, 0), together = Probe(true, static_cast<size_t>(gap));
  if (alone.empty() || together.empty()) return;
  for (size_t row = 0; row < 2; ++row) {
    if (alone[row].size() != together[row].size()) return;
    const auto [low, high] = std::minmax_element(alone[row].begin(), alone[row].end());
    const float tolerance = 1e-3f * (*high - *low) + 1e-6f;
    for (size_t i = 0; i < alone[row].size(); ++i) {
      if (!(std::fabs(alone[row][i] - together[row][i]) <= tolerance)) return;
    }
  }
  together_ = true;
}

}  // namespace

absl::StatusOr<std::unique_ptr<DecoderSlots>> MakeCachedSlots(std::unique_ptr<Session> session,
                                                              DecoderSignature signature,
                                                              int64_t context, int64_t slots,
                                                              CacheForm form,
                                                              const std::string& provider) {
  auto made = std::make_unique<CachedSlots>(std::move(session), std::move(signature), context,
                                            slots, form, provider);
  made->TryTogether();
  return made;
}

}  // namespace onward::generation
