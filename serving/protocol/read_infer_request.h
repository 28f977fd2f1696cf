// Reads inference requests.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "onward/session.h"
#include "serving/http/message.h"
#include "serving/protocol/infer_request.h"

namespace onward::serving {

// The length of the JSON at the body's beginning, by the field inference-header-content-length;
// nullopt: there is no such field, the body is JSON. InvalidArgument: the field is not a decimal
// number, is there twice, or says more than the body has.
absl::StatusOr<std::optional<size_t>> JsonLengthOf(const HttpFields& fields, size_t body_size);

// Members that are not known are ignored. `data` is flat or nested in any way, as long as it has
// the elements that `shape` asks for; integers must be whole and in range; NaN, Infinity and
// -Infinity may stand for floats. What follows the JSON are the binary tensors, in the order of the
// inputs that have binary_data_size. InvalidArgument names the member: "inputs[0].shape: ...".
// Takes no more memory than in proportion to the body.
absl::StatusOr<InferRequest> ReadInferRequest(std::string_view body,
                                              std::optional<size_t> json_length = std::nullopt,
                                              const BodyPart& tail = {});

// The body is the bytes of the only input of a model with `inputs`: its shape follows from their
// number, and all outputs are wanted as bytes. One element of BYTES is the body without a length.
// InvalidArgument: the model has several inputs, or one whose shape does not follow.
absl::StatusOr<InferRequest> ReadRawInferRequest(std::string_view body,
                                                 absl::Span<const ValueInfo> inputs);

// One of the above, as the fields say. `tail`: what was read apart of the body, behind the JSON;
// tensors may be on it.
absl::StatusOr<InferRequest> ReadInferRequest(const HttpFields& fields, std::string_view body,
                                              absl::Span<const ValueInfo> inputs,
                                              const BodyPart& tail = {});

}  // namespace onward::serving
