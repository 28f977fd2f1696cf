// Vectors of texts by an encoder: its inputs from tokens, and one vector of each text from its
// outputs.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "onward/session.h"
#include "serving/protocol/infer_reply.h"
#include "serving/text/text_model.h"

namespace onward::serving {

// Tokens, masks, types and positions [texts, longest], padded with zeros. FailedPrecondition: the
// model wants something else.
absl::StatusOr<Session::Inputs> EncoderInputs(absl::Span<const std::vector<int64_t>> texts,
                                              absl::Span<const ValueInfo> inputs);

// The output "sentence_embedding" or one of [texts, width], else one of [texts, longest, width]
// pooled over each text's tokens; scaled to length 1. FailedPrecondition: there is no such output.
absl::StatusOr<std::vector<std::vector<float>>> Embedded(
    absl::Span<const std::vector<int64_t>> texts, const InferReply& reply, Pooling pooling);

}  // namespace onward::serving
