#include "onnx_io/attribute_proto.h"

#include "graph/infer/type_proto.h"
#include "onnx/onnx_pb.h"
#include "onnx_io/tensor_proto.h"

namespace onward::onnx_io {

void AttributeToProto(std::string_view name, const Attribute& attribute,
                      onnx::AttributeProto* proto) {
  if (const auto* tensor = std::get_if<Tensor>(&attribute)) {
    proto->set_name(std::string(name));
    proto->set_type(onnx::AttributeProto::TENSOR);
    TensorToProto(*tensor, "", proto->mutable_t());
  } else if (const auto* tensors = std::get_if<std::vector<Tensor>>(&attribute)) {
    proto->set_name(std::string(name));
    proto->set_type(onnx::AttributeProto::TENSORS);
    for (const Tensor& element : *tensors) TensorToProto(element, "", proto->add_tensors());
  } else {
    AttributeToInferenceProto(name, attribute, proto);
  }
}

}  // namespace onward::onnx_io
