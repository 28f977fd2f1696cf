// Many texts at once from one decoder: continuous batching. Texts join a batch that is under way as
// soon as a row is free, and leave it when they end.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "onward/generation/generate.h"
#include "onward/generation/token_constraint.h"
#include "onward/session.h"

namespace onward::generation {

// A token that was chosen, or, with `prompt_scores`, one of the prompt.
struct TextToken {
  int64_t id = 0;
  bool in_prompt = false;
  // By the model's distribution, before sampling changes it; 0 for the prompt's first token.
  double log_probability = 0;
  std::vector<std::pair<int64_t, double>> best;  // the `top` most probable, the best first
};

struct TextRequest {
  std::vector<int64_t> prompt;
  // `on_token` is not used. With `prompt_scores` max_new_tokens may be 0.
  GenerateOptions options = {};
  bool log_probabilities = false;  // else log_probability and best stay empty
  int top = 0;                     // log probabilities of that many tokens at each place
  bool prompt_scores = false;      // on_token sees the prompt's tokens too
  std::shared_ptr<TokenConstraint> constraint = nullptr;
  std::stop_token stop = {};  // ends the text with Cancelled
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  // All are called by the thread that calls Step, and the first two may be null. on_begin: the text
  // has a row. on_token: false ends the text (Finish::kCaller).
  std::function<void()> on_begin = nullptr;
  std::function<bool(const TextToken& token)> on_token = nullptr;
  std::function<void(absl::StatusOr<Finish> finish)> on_end;  // once, and nothing after it
};

struct BatchGeneratorOptions {
  int64_t context = 0;         // the most tokens that the model can see, 0 where there is no limit
  int64_t rows = 8;            // texts at once
  int64_t prompt_tokens = 64;  // the most tokens of prompts read between two steps of other texts
  // A text does not read again what its row still has of the one before. The last bits of scores
  // depend on how a prompt was read.
  bool shares_prefixes = true;
};

class BatchGenerator {
 public:
  // InvalidArgument: the model is not a decoder (see FindSignature).
  static absl::StatusOr<std::unique_ptr<BatchGenerator>> Create(
      Model model, const SessionOptions& session, const BatchGeneratorOptions& options);
  // Ends the texts that are left with Cancelled.
  virtual ~BatchGenerator() = default;

  // Lets a text wait for a row; thread-safe. InvalidArgument: a prompt that the model cannot read,
  // options out of range; on_end is not called then.
  virtual absl::Status Add(TextRequest request) = 0;
  // One run for the texts that have a row. Returns false where no text is left. One thread at a
  // time. An error of a run ends the texts that took part, each by its on_end.
  virtual bool Step(RunPriority priority) = 0;
  bool Step() { return Step(RunPriority::kNormal); }

  virtual size_t rows() const = 0;
  virtual size_t waiting() const = 0;  // texts without a row; thread-safe
  virtual size_t running() const = 0;  // texts with one; thread-safe
  virtual Session& session() = 0;
};

}  // namespace onward::generation
