#include "onward/generation/batch_generator.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "generation/decoder_slots.h"
#include "generation/decoder_tensors.h"
#include "generation/text.h"
#include "onward/status.h"

namespace onward::generation {
namespace {

// A row is worth a choice by what it holds if it saves so many tokens.
constexpr size_t kFewTokens = 4;
// The most tokens of a prompt in one run, which is what a cancelled text waits for.
constexpr size_t kMostTokens = 512;

size_t CommonPrefix(absl::Span<const int64_t> a, absl::Span<const int64_t> b) {
  const size_t count = std::min(a.size(), b.size());
  return static_cast<size_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<int64_t>(count), b.begin()).first -
      a.begin());
}

class Generator : public BatchGenerator {
 public:
  Generator(std::unique_ptr<DecoderSlots> slots, const BatchGeneratorOptions& options)
      : slots_(std::move(slots)), options_(options), rows_(slots_->size()) {}

  ~Generator() override;

  absl::Status Add(TextRequest request) override;
  bool Step(RunPriority priority) override;

  size_t rows() const override { return rows_.size(); }
  size_t waiting() const override {
    std::lock_guard lock(mutex_);
    return waiting_.size();
  }
  size_t running() const override { return running_; }
  Session& session() override { return slots_->session(); }

 private:
  struct Row {
    std::unique_ptr<Text> text;  // null: free
    uint64_t order = 0;          // of the text, or of its end
  };

  std::vector<std::pair<std::unique_ptr<Text>, absl::Status>> TakeWaiting();
  void EndOver();
  size_t ChooseRow(const Text& text) const;
  void Start(std::unique_ptr<Text> text);
  void End(size_t row, absl::StatusOr<Finish> finish);
  // The tokens that a row's text has and its caches do not.
  absl::Span<const int64_t> Unread(size_t row) const {
    return absl::MakeConstSpan(rows_[row].text->tokens()).subspan(slots_->tokens(row).size());
  }
  bool Reads(size_t row) const { return rows_[row].text != nullptr; }
  bool OneByOne() const { return slots_->remembers() && slots_->signature().length.has_value(); }
  void ReadPrompts();
  void ReadNext();
  void Read(const std::vector<SlotFeed>& feeds);

  const std::unique_ptr<DecoderSlots> slots_;
  const BatchGeneratorOptions options_;
  std::vector<Row> rows_;
  uint64_t order_ = 0;
  std::atomic<size_t> running_ = 0;
  mutable std::mutex mutex_;
  std::deque<std::unique_ptr<Text>> waiting_;
};

Generator::~Generator() {
  const absl::Status gone = absl::CancelledError("the generator is gone");
  for (Row& row : rows_) {
    if (row.text) row.text->End(gone);
  }
  for (const auto& text : waiting_) text->End(gone);
}

absl::Status Generator::Add(TextRequest request) {
  ONWARD_RETURN_IF_ERROR(CheckSampling(request.options.sampling));
  const int64_t fewest = request.prompt_scores ? 0 : 1;
  if (request.options.max_new_tokens < fewest) {
    return absl::InvalidArgumentError(absl::StrCat(
        "max_new_tokens is ", request.options.max_new_tokens, ", must be at least ", fewest));
  }
  if (request.top < 0)
    return absl::InvalidArgumentError(absl::StrCat("top is ", request.top, ", must be at least 0"));
  ONWARD_RETURN_IF_ERROR(CheckPrompt(slots_->signature(), slots_->context(), request.prompt));
  auto text = std::make_unique<Text>(std::move(request));
  std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(text));
  return absl::OkStatus();
}

// Texts that begin, and those that are over before they did.
std::vector<std::pair<std::unique_ptr<Text>, absl::Status>> Generator::TakeWaiting() {
  std::vector<std::pair<std::unique_ptr<Text>, absl::Status>> taken;
  size_t free = rows_.size() - running_;
  std::lock_guard lock(mutex_);
  for (size_t i = 0; i < waiting_.size();) {
    const absl::Status over = waiting_[i]->Over();
    if (over.ok() && free == 0) {
      ++i;
      continue;
    }
    if (over.ok()) {
      --free;
      ++running_;
    }
    taken.emplace_back(std::move(waiting_[i]), over);
    waiting_.erase(waiting_.begin() + static_cast<int64_t>(i));
  }
  return taken;
}

void Generator::EndOver() {
  for (size_t row = 0; row < rows_.size(); ++row) {
    if (!Reads(row)) continue;
    if (const absl::Status over = rows_[row].text->Over(); !over.ok()) End(row, over);
  }
}

void Generator::End(size_t row, absl::StatusOr<Finish> finish) {
  const std::unique_ptr<Text> text = std::move(rows_[row].text);
  rows_[row].order = ++order_;
  // The row may be company later, which reads a token where the last one lies.
  if (const size_t length = slots_->tokens(row).size(); length > 0) slots_->Cut(row, length - 1);
  --running_;
  text->End(std::move(finish));
}

// The free row that holds most of the prompt; else one near those that run, so that a run has few
// rows for company; else the one that was free for longest.
size_t Generator::ChooseRow(const Text& text) const {
  size_t begin = rows_.size(), end = 0;
  for (size_t row = 0; row < rows_.size(); ++row) {
    if (!Reads(row)) continue;
    begin = std::min(begin, row);
    end = row + 1;
  }
  const auto rank = [&](size_t row) {
    const size_t saved = CommonPrefix(slots_->tokens(row), text.tokens());
    const bool worth = !text.scores_prompt() && saved >= kFewTokens;
    const size_t range = begin < end ? std::max(end, row + 1) - std::min(begin, row) : 1;
    return std::tuple(worth ? -static_cast<int64_t>(saved) : 0, range, rows_[row].order, row);
  };
  size_t best = rows_.size();
  for (size_t row = 0; row < rows_.size(); ++row) {
    if (!Reads(row) && (best == rows_.size() || rank(row) < rank(best))) best = row;
  }
  return best;
}

void Generator::Start(std::unique_ptr<Text> text) {
  const size_t row = ChooseRow(*text);
  // The last token is read again: its scores are wanted.
  const size_t kept =
      text->scores_prompt() || !options_.shares_prefixes
          ? 0
          : std::min(CommonPrefix(slots_->tokens(row), text->tokens()), text->tokens().size() - 1);
  slots_->Cut(row, kept);
  rows_[row].text = std::move(text);
  rows_[row].order = ++order_;
  if (!rows_[row].text->Begin()) End(row, Finish::kCaller);
}

void Generator::Read(const std::vector<SlotFeed>& feeds) {
  if (feeds.empty()) return;
  std::vector<size_t> before;
  for (const SlotFeed& feed : feeds) before.push_back(slots_->tokens(feed.slot).size());
  std::vector<std::optional<absl::StatusOr<Finish>>> ends(feeds.size());
  const auto results = slots_->Read(feeds, [&](size_t i, size_t at, absl::Span<float> scores) {
    if (ends[i]) return;
    const size_t row = feeds[i].slot, read = before[i] + at + 1;
    ends[i] = rows_[row].text->Take(scores, read, slots_->full(row));
  });
  for (size_t i = 0; i < feeds.size(); ++i) {
    if (!results[i].ok()) {
      End(feeds[i].slot, results[i]);
    } else if (ends[i]) {
      End(feeds[i].slot, *ends[i]);
    }
  }
}

// Pieces of prompts, the oldest text's first.
void Generator::ReadPrompts() {
  if (OneByOne()) return;
  std::vector<size_t> readers;
  bool others = false;
  for (size_t row = 0; row < rows_.size(); ++row) {
    if (!Reads(row)) continue;
    if (Unread(row).size() > 1) {
      readers.push_back(row);
    } else {
      others = true;
    }
  }
  std::sort(readers.begin(), readers.end(),
            [&](size_t a, size_t b) { return rows_[a].order < rows_[b].order; });
  size_t budget = others ? static_cast<size_t>(options_.prompt_tokens) : kMostTokens;
  for (const size_t row : readers) {
    if (budget == 0) return;
    absl::Span<const int64_t> piece = Unread(row);
    if (slots_->remembers()) piece = piece.first(std::min(piece.size(), budget));
    budget -= std::min(budget, piece.size());
    Read({{row, piece, rows_[row].text->scores_prompt()}});
  }
}

// One token for every text that has one more.
void Generator::ReadNext() {
  std::vector<SlotFeed> feeds;
  for (size_t row = 0; row < rows_.size(); ++row) {
    if (!Reads(row)) continue;
    const absl::Span<const int64_t> unread = Unread(row);
    if (unread.size() == 1 || OneByOne()) feeds.push_back({row, unread.first(1), false});
  }
  Read(feeds);
}

bool Generator::Step(RunPriority priority) {
  slots_->set_priority(priority);
  EndOver();
  for (auto& [text, over] : TakeWaiting()) {
    if (over.ok()) {
      Start(std::move(text));
    } else {
      text->End(over);
    }
  }
  ReadPrompts();
  ReadNext();
  if (running_ > 0) return true;
  return waiting() > 0;
}

}  // namespace

absl::StatusOr<std::unique_ptr<BatchGenerator>> BatchGenerator::Create(
    Model model, const SessionOptions& session, const BatchGeneratorOptions& options) {
  constexpr int64_t kMostRows = 4096;
  if (options.context < 0)
    return absl::InvalidArgumentError(
        absl::StrCat("the context is ", options.context, " tokens, must be at least 0"));
  if (options.rows < 1 || options.rows > kMostRows) {
    return absl::InvalidArgumentError(
        absl::StrCat("rows is ", options.rows, ", must be in [1, ", kMostRows, "]"));
  }
  if (options.prompt_tokens < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("prompt_tokens is ", options.prompt_tokens, ", must be at least 1"));
  }
  ONWARD_ASSIGN_OR_RETURN(
      auto slots, DecoderSlots::Create(std::move(model), session, options.context, options.rows));
  return std::make_unique<Generator>(std::move(slots), options);
}

}  // namespace onward::generation
