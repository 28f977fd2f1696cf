// ONNX's text syntax -> ModelProto.
#pragma once

#include <string>

#include "onnx/onnx_pb.h"

namespace onward::testing {

// Fails the test where the text does not parse.
onnx::ModelProto ProtoFromText(const std::string& text);

}  // namespace onward::testing
