#include "generation/text.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "onward/generation/sampling.h"

namespace onward::generation {

absl::Status Text::Over() const {
  if (request_.stop.stop_requested()) return absl::CancelledError("the text was cancelled");
  if (std::chrono::steady_clock::now() >= request_.deadline)
    return absl::DeadlineExceededError("the text's time is up");
  return absl::OkStatus();
}

TextToken Text::Shown(int64_t id, bool in_prompt, absl::Span<const float> scores) const {
  TextToken token;
  token.id = id;
  token.in_prompt = in_prompt;
  if (!request_.log_probabilities || scores.empty()) return token;
  const std::vector<double> logs = LogProbabilities(scores);
  token.log_probability = logs[static_cast<size_t>(id)];
  std::vector<int64_t> order(logs.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  const auto count = std::min<int64_t>(request_.top, static_cast<int64_t>(order.size()));
  std::partial_sort(order.begin(), order.begin() + count, order.end(), [&](int64_t a, int64_t b) {
    const double left = logs[static_cast<size_t>(a)], right = logs[static_cast<size_t>(b)];
    return left != right ? left > right : a < b;
  });
  for (int64_t i = 0; i < count; ++i) {
    const int64_t best = order[static_cast<size_t>(i)];
    token.best.emplace_back(best, logs[static_cast<size_t>(best)]);
  }
  return token;
}

bool Text::Show(const TextToken& token) { return !request_.on_token || request_.on_token(token); }

bool Text::Begin() {
  if (request_.on_begin) request_.on_begin();
  if (!request_.prompt_scores) return true;
  const size_t shown = scores_prompt() ? 1 : request_.prompt.size();
  for (size_t i = 0; i < shown; ++i) {
    if (!Show(Shown(request_.prompt[i], true, {}))) return false;
  }
  return true;
}

std::optional<absl::StatusOr<Finish>> Text::Take(absl::Span<float> scores, size_t read, bool full) {
  const size_t prompt = request_.prompt.size();
  if (read < prompt) {
    if (!scores_prompt() || Show(Shown(request_.prompt[read], true, scores))) return std::nullopt;
    return Finish::kCaller;
  }
  const GenerateOptions& options = request_.options;
  const auto chosen = static_cast<int64_t>(tokens_.size() - prompt);
  if (chosen >= options.max_new_tokens) return Finish::kLength;
  std::vector<float> model;  // before anything is done with them
  if (request_.log_probabilities) model.assign(scores.begin(), scores.end());
  TokenConstraint* constraint = request_.constraint.get();
  if (constraint != nullptr) constraint->Mask(scores);
  if (constraint != nullptr && !constraint->status().ok()) return constraint->status();
  const int64_t id =
      ChooseToken(scores, tokens_, options.sampling, options.seed, static_cast<uint64_t>(chosen));
  tokens_.push_back(id);
  const auto& stops = options.stop_tokens;
  const bool stops_here = std::find(stops.begin(), stops.end(), id) != stops.end();
  if (constraint != nullptr && !stops_here) constraint->Take(id);
  const bool more = Show(Shown(id, false, model));
  if (stops_here || (constraint != nullptr && constraint->Ends())) return Finish::kStop;
  if (!more) return Finish::kCaller;
  if (chosen + 1 >= options.max_new_tokens) return Finish::kLength;
  if (full) return Finish::kContext;
  return std::nullopt;
}

void Text::End(absl::StatusOr<Finish> finish) {
  if (request_.on_end) std::exchange(request_.on_end, nullptr)(std::move(finish));
}

}  // namespace onward::generation
