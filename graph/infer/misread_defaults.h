// Defaults that ONNX's inference functions take for others than the schema's.
#pragma once

#include <string_view>

#include "onnx/defs/schema.h"
#include "onnx/onnx_pb.h"

namespace onward {

// The schema's default of an attribute whose absence the op's inference function reads as another
// value; null where it reads the default, as it should.
const onnx::AttributeProto* MisreadDefault(const onnx::OpSchema& schema,
                                           std::string_view attribute);

}  // namespace onward
