// Caches of many rows in one tensor each, with room for tokens to come.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "onward/generation/decoder_signature.h"

namespace onward::generation {

// Tokens [from, from + count) of row `source_row` become those of `row` from `at` on; `axis` is
// that of tokens.
void CopyTokens(const Tensor& source, int64_t source_row, int64_t from, int64_t count, size_t axis,
                Tensor& target, int64_t row, int64_t at);

class SlotCaches {
 public:
  // `inputs`: the session's, which must outlive this. `limit`: tokens of a row for which a model
  // may have tables, and for which there is no room beyond need; 0 where there is no limit.
  // `provider`: on whose device they lie.
  SlotCaches(absl::Span<const ValueInfo> inputs, std::vector<DecoderSignature::Cache> caches,
             int64_t rows, int64_t limit, std::string provider)
      : inputs_(inputs),
        caches_(std::move(caches)),
        rows_(rows),
        limit_(limit),
        provider_(std::move(provider)) {}

  int64_t capacity() const { return capacity_; }  // tokens of a row
  int64_t bytes_of_token() const;                 // of one row
  // Gives each row room for `length` tokens, and for more to come unless `exact`; what is there
  // stays. ResourceExhausted.
  absl::Status Reserve(int64_t length, bool exact = false);
  void Clear();

  // Rows [begin, end) of a cache, on its memory.
  Tensor Rows(size_t cache, int64_t begin, int64_t end) const;
  // CopyTokens to a cache.
  absl::Status Write(size_t cache, const Tensor& source, int64_t source_row, int64_t from,
                     int64_t count, int64_t row, int64_t at);

 private:
  absl::Span<const ValueInfo> inputs_;
  const std::vector<DecoderSignature::Cache> caches_;
  const int64_t rows_, limit_;
  const std::string provider_;
  int64_t capacity_ = 0;
  std::vector<Tensor> tensors_;
};

}  // namespace onward::generation
