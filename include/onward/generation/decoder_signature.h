// The roles of a text decoder's inputs and outputs, by their names and types.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "onward/session.h"

namespace onward::generation {

// Positions among a session's inputs and outputs.
struct DecoderSignature {
  size_t tokens = 0;  // integers [batch, length]
  size_t scores = 0;  // [batch, vocabulary] of the last position, or [batch, length, vocabulary]
  std::optional<size_t> mask;       // "attention_mask": ones for every token up to now
  std::optional<size_t> positions;  // "position_ids"
  // A cache that comes in and the one, grown by the new tokens, that goes out.
  struct Cache {
    size_t past, present;
    int64_t batch_axis = 0, length_axis = 2;
  };
  std::vector<Cache> caches;
  // int64[batch], the tokens that are in the caches: those then have room for more and are written
  // in place (fixed_cache.h).
  std::optional<size_t> past_length;
  bool any_batch = false;             // the batch is not a fixed number
  int64_t batch = 1;                  // else this one
  std::optional<int64_t> length;      // the tokens that one run takes, where that is fixed
  std::optional<int64_t> vocabulary;  // where the model says it
};

// Caches are inputs with "past" in their name, whose output has "present" there ("past.0.key" or
// "past_key_values.0.key" and "present.0.key"). InvalidArgument says what the model lacks, or
// which input nothing is known to feed.
absl::StatusOr<DecoderSignature> FindSignature(absl::Span<const ValueInfo> inputs,
                                               absl::Span<const ValueInfo> outputs);

}  // namespace onward::generation
