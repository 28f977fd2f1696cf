// Takes the large data of tensors out of a serialized ModelProto before it is parsed, so that
// weights are never held by the proto. Works on the wire format: checks its framing, counts what
// parsing would build, and limits nesting.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "onward/import.h"

namespace onward::onnx_io {

// The serialized model where every TensorProto whose fixed-width data (raw_data, packed float_data
// or double_data) is large has a `segment` instead: its range in `model`. InvalidArgument names the
// offset of what is not well-formed, or the limit that the model breaks.
absl::StatusOr<std::string> TakePayloadsOut(std::string_view model, const ImportOptions& options);

}  // namespace onward::onnx_io
