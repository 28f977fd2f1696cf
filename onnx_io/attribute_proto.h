// Attribute -> AttributeProto, whole (graph/infer/type_proto.h has the one for inference, which
// leaves large tensors out).
#pragma once

#include <string_view>

#include "onward/attribute.h"

namespace onnx {
class AttributeProto;
}  // namespace onnx

namespace onward::onnx_io {

void AttributeToProto(std::string_view name, const Attribute& attribute,
                      onnx::AttributeProto* proto);

}  // namespace onward::onnx_io
