#include "onward/generation/beam_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "onward/status.h"

namespace onward::generation {
namespace {

struct Candidate {
  double score;  // the sum of log-probabilities
  int parent;
  int64_t token;
};

// The `count` best continuations of all rows, best first.
std::vector<Candidate> BestOf(const Decoder& decoder, const Scores& scores,
                              const std::vector<double>& sums, size_t count, double penalty) {
  std::vector<Candidate> all;
  for (size_t row = 0; row < scores.size(); ++row) {
    std::vector<double> logs = LogProbabilities(scores[row]);
    if (penalty != 1) {
      std::vector<float> narrow(logs.begin(), logs.end());
      PenaliseRepetition(absl::MakeSpan(narrow), decoder.row(row), penalty);
      logs.assign(narrow.begin(), narrow.end());
    }
    for (size_t token = 0; token < logs.size(); ++token)
      all.push_back({sums[row] + logs[token], static_cast<int>(row), static_cast<int64_t>(token)});
  }
  count = std::min(count, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<int64_t>(count), all.end(),
                    [](const Candidate& a, const Candidate& b) {
                      if (a.score != b.score) return a.score > b.score;
                      return std::pair(a.parent, a.token) < std::pair(b.parent, b.token);
                    });
  all.resize(count);
  return all;
}

class Search {
 public:
  Search(Decoder& decoder, size_t prompt, const BeamOptions& options)
      : decoder_(decoder),
        prompt_(prompt),
        beams_(static_cast<size_t>(options.beams)),
        options_(options) {}

  // Adds what ends among the best, and continues with the best that do not. False when none does.
  bool Choose(const std::vector<Candidate>& candidates, absl::Span<const int64_t> stop_tokens,
              bool last) {
    next_.clear();
    for (size_t i = 0; i < candidates.size(); ++i) {
      const Candidate& each = candidates[i];
      const bool stops =
          std::find(stop_tokens.begin(), stop_tokens.end(), each.token) != stop_tokens.end();
      if (!stops && !last) {
        if (next_.size() < beams_) next_.push_back(each);
      } else if (i < beams_) {
        Finish(each);
      }
    }
    return !next_.empty();
  }

  // Returns whether what runs may still be better than the worst that is finished.
  bool MayImprove() const {
    if (finished_.size() < beams_) return true;
    if (options_.early_stopping) return false;
    const double length = static_cast<double>(decoder_.row(0).size() + 1 - prompt_);
    return next_[0].score / std::pow(length, options_.length_penalty) > finished_.back().score;
  }

  const std::vector<Candidate>& next() const { return next_; }
  std::vector<Hypothesis>&& finished() { return std::move(finished_); }

 private:
  void Finish(const Candidate& each) {
    const std::vector<int64_t>& row = decoder_.row(static_cast<size_t>(each.parent));
    Hypothesis made;
    made.tokens.assign(row.begin() + static_cast<int64_t>(prompt_), row.end());
    made.tokens.push_back(each.token);
    made.score =
        each.score / std::pow(static_cast<double>(made.tokens.size()), options_.length_penalty);
    const auto at = std::upper_bound(
        finished_.begin(), finished_.end(), made,
        [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
    finished_.insert(at, std::move(made));
    if (finished_.size() > beams_) finished_.pop_back();
  }

  Decoder& decoder_;
  const size_t prompt_, beams_;
  const BeamOptions options_;
  std::vector<Candidate> next_;
  std::vector<Hypothesis> finished_;
};

}  // namespace

absl::StatusOr<std::vector<Hypothesis>> BeamSearch(
    Decoder& decoder, absl::Span<const int64_t> prompt, int64_t max_new_tokens,
    absl::Span<const int64_t> stop_tokens, const BeamOptions& options, double repetition_penalty) {
  constexpr int64_t kMostBeams = 4096;
  if (options.beams < 1 || options.beams > kMostBeams)
    return absl::InvalidArgumentError(
        absl::StrCat("beams is ", options.beams, ", must be in [1, ", kMostBeams, "]"));
  if (!std::isfinite(options.length_penalty))
    return absl::InvalidArgumentError("length_penalty must be finite");
  if (max_new_tokens < 1) return absl::InvalidArgumentError("max_new_tokens must be at least 1");
  ONWARD_ASSIGN_OR_RETURN(Scores scores, decoder.Begin(prompt));
  Search search(decoder, prompt.size(), options);
  const size_t kept =
      static_cast<size_t>(options.beams) * std::max<size_t>(2, 1 + stop_tokens.size());
  std::vector<double> sums = {0};
  for (int64_t step = 1;; ++step) {
    const std::vector<Candidate> candidates =
        BestOf(decoder, scores, sums, kept, repetition_penalty);
    const bool last = step == max_new_tokens || decoder.full();
    if (!search.Choose(candidates, stop_tokens, last) || !search.MayImprove()) break;
    std::vector<int64_t> tokens;
    std::vector<int> parents;
    sums.clear();
    for (const Candidate& each : search.next()) {
      tokens.push_back(each.token);
      parents.push_back(each.parent);
      sums.push_back(each.score);
    }
    ONWARD_ASSIGN_OR_RETURN(scores, decoder.Next(tokens, parents));
  }
  return search.finished();
}

}  // namespace onward::generation
