// Tensors that go into a decoder and come out of it.
#pragma once

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "onward/generation/decoder_signature.h"
#include "onward/graph.h"
#include "onward/session.h"

namespace onward::generation {

// Returns whether an input of the model is a cache.
bool HasCaches(const Graph& graph);

// InvalidArgument: a token that the vocabulary does not have.
absl::Status CheckTokens(const DecoderSignature& signature, absl::Span<const int64_t> tokens);
// The same; or no token, or more than the context where there are caches.
absl::Status CheckPrompt(const DecoderSignature& signature, int64_t context,
                         absl::Span<const int64_t> prompt);

// Tokens, masks and positions: [rows, width] of `at(row, column)`.
Tensor IdTensor(DType dtype, size_t rows, size_t width,
                absl::FunctionRef<int64_t(size_t, size_t)> at);

// A cache of zeros.
Tensor EmptyCache(absl::Span<const ValueInfo> inputs, const DecoderSignature::Cache& cache,
                  int64_t rows, int64_t length);

// The number of a run's tokens that have scores: all `width`, or 1 (the last). InvalidArgument: the
// value is not scores of `rows` rows.
absl::StatusOr<int64_t> ScoredPlaces(const Value& scores, int64_t rows, int64_t width);
// Place `at` of a row; the only one where there is one alone.
std::vector<float> ScoresAt(const Tensor& scores, int64_t row, int64_t at);

}  // namespace onward::generation
