// A model of text as a function from tokens to the scores of the next one, with its caches.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "onward/generation/decoder_signature.h"
#include "onward/session.h"

namespace onward::generation {

// Scores of the next token of each row.
using Scores = std::vector<std::vector<float>>;

// Not thread-safe. Caches stay on the provider's device. Rows have equal lengths. A model with
// caches sees each token once; another one sees the whole row in every step, at most its last
// `context` tokens.
class Decoder {
 public:
  // Compiles a model; its caches are written in place where it allows that (fixed_cache.h).
  static absl::StatusOr<std::unique_ptr<Decoder>> Create(Model model, const SessionOptions& options,
                                                         int64_t context = 0);
  // `context`: the most tokens that the model can see, 0 where there is no limit. InvalidArgument:
  // the model is not a decoder (see FindSignature).
  static absl::StatusOr<std::unique_ptr<Decoder>> Create(std::unique_ptr<Session> session,
                                                         int64_t context = 0);

  // Forgets what was, and reads the prompt as the only row. InvalidArgument: no token, one that the
  // vocabulary does not have, more than the context where there are caches.
  absl::StatusOr<Scores> Begin(absl::Span<const int64_t> prompt);
  // Row i becomes row parents[i] and tokens[i]. OutOfRange: the context is full.
  absl::StatusOr<Scores> Next(absl::Span<const int64_t> tokens, absl::Span<const int> parents);

  // The tokens of a row.
  const std::vector<int64_t>& row(size_t i) const { return rows_[i]; }
  // Returns whether Next would be OutOfRange.
  bool full() const;
  const DecoderSignature& signature() const { return signature_; }
  const Session& session() const { return *session_; }

 private:
  // Rows that go through one run: all, or one each where the batch is fixed.
  struct Group {
    std::vector<size_t> rows;
    std::vector<Value> caches;  // in the order of the signature's
  };

  Decoder() = default;
  void MakeGroups();
  absl::StatusOr<Scores> Read(size_t count);
  // The last `count` tokens of the group's rows, in one run.
  absl::StatusOr<Tensor> Run(Group& group, size_t begin, size_t count);
  Tensor Ids(const Group& group, size_t input, size_t begin, size_t count, size_t width) const;
  // Caches that are written in place get room for `length` tokens.
  absl::Status MakeRoom(Group& group, size_t length);
  // Gives the groups the caches of the rows that they go on from.
  absl::Status TakeCaches(absl::Span<const Group> before, absl::Span<const int> parents);

  std::unique_ptr<Session> session_;
  DecoderSignature signature_;
  int64_t context_ = 0;
  int64_t capacity_ = 0;  // of caches that are written in place
  std::vector<std::vector<int64_t>> rows_;
  std::vector<Group> groups_;
  std::vector<Value> outputs_;  // buffers of the last run
};

}  // namespace onward::generation
