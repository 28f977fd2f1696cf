// Rows of a decoder that come and go, each with tokens of its own number.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "onward/generation/decoder_signature.h"
#include "onward/session.h"

namespace onward::generation {

// Tokens that a row reads behind those that it has. One for each row at most.
struct SlotFeed {
  size_t slot = 0;
  absl::Span<const int64_t> tokens;
  bool every_place = false;  // the scores behind every token are wanted, else behind the last
};

// Not thread-safe.
class DecoderSlots {
 public:
  // The scores behind token `at` of feed `feed`; may be changed.
  using SeeScores = absl::FunctionRef<void(size_t feed, size_t at, absl::Span<float> scores)>;

  // InvalidArgument: not a decoder (see FindSignature), or one whose caches take several tokens at
  // a time only.
  static absl::StatusOr<std::unique_ptr<DecoderSlots>> Create(Model model,
                                                              const SessionOptions& options,
                                                              int64_t context, int64_t slots);
  virtual ~DecoderSlots() = default;

  // A status for each feed. A row whose feed failed has what it had.
  virtual std::vector<absl::Status> Read(absl::Span<const SlotFeed> feeds, SeeScores see) = 0;
  // Forgets the tokens of a row behind the first `length`.
  virtual void Cut(size_t slot, size_t length) = 0;
  // Returns whether tokens that were read are not read again: long prompts may be read in pieces.
  virtual bool remembers() const = 0;
  // Returns whether rows of different lengths share a run.
  virtual bool together() const = 0;

  size_t size() const { return tokens_.size(); }
  const std::vector<int64_t>& tokens(size_t slot) const { return tokens_[slot]; }
  bool full(size_t slot) const {  // no further token can be read
    return remembers() && context_ > 0 && static_cast<int64_t>(tokens_[slot].size()) >= context_;
  }
  void set_priority(RunPriority priority) { options_.priority = priority; }  // of runs
  int64_t context() const { return context_; }                               // 0: no limit
  const DecoderSignature& signature() const { return signature_; }
  Session& session() const { return *session_; }

 protected:
  DecoderSlots(std::unique_ptr<Session> session, DecoderSignature signature, int64_t context,
               int64_t slots)
      : session_(std::move(session)),
        signature_(std::move(signature)),
        context_(context),
        tokens_(static_cast<size_t>(slots)) {}

  DType IdType(size_t input) const { return session_->inputs()[input].type.dtype; }

  const std::unique_ptr<Session> session_;
  const DecoderSignature signature_;
  const int64_t context_;
  std::vector<std::vector<int64_t>> tokens_;
  std::vector<Value> outputs_;  // buffers of the last run
  RunOptions options_;
};

std::unique_ptr<DecoderSlots> MakeWholeSlots(std::unique_ptr<Session> session,
                                             DecoderSignature signature, int64_t context,
                                             int64_t slots);
// The form in which runs leave what they add to the caches.
enum class CacheForm {
  kCounted,  // behind what each row has (fixed_cache.h); `past_length` may differ by row
  kShared,   // the same, but by the first row's length
  kMasked,   // in the last columns (masked_cache.h)
  kCopied,   // in copies of the caches
};
// `provider`: on whose device the session's caches lie.
absl::StatusOr<std::unique_ptr<DecoderSlots>> MakeCachedSlots(std::unique_ptr<Session> session,
                                                              DecoderSignature signature,
                                                              int64_t context, int64_t slots,
                                                              CacheForm form,
                                                              const std::string& provider);

}  // namespace onward::generation
