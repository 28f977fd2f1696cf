// An inference request (Open Inference Protocol v2, section "Inference", with the extensions
// binary_tensor_data, classification and parameters).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "onward/session.h"
#include "serving/http/message.h"

namespace onward::serving {

struct RequestedOutput {
  std::string name;
  bool binary = false;   // as bytes behind the reply's JSON
  uint64_t classes = 0;  // so many best classes as text, instead of the tensor; 0: the tensor
};

struct Sequence {
  std::variant<std::monostate, uint64_t, std::string> id;  // monostate: of no sequence
  bool start = false, end = false;
};

struct InferRequest {
  std::optional<std::string> id;         // echoed in the reply
  Session::Inputs inputs;                // not yet compared with the model's
  std::vector<RequestedOutput> outputs;  // those asked for, in their order; none: all
  bool binary_output = false;            // for all, where none is asked for by name
  uint64_t priority = 0;                 // 1: the highest; 0: the default
  std::optional<std::chrono::microseconds> timeout;
  Sequence sequence;
};

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
