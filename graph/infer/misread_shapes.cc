#include "graph/infer/misread_shapes.h"

namespace onward {
namespace {

constexpr size_t kSizes = 3;

bool HasShape(const onnx::TypeProto& type) {
  return type.has_tensor_type() && type.tensor_type().has_shape();
}

void CompleteSizes(const Node& node, std::vector<onnx::TypeProto>& inputs) {
  if (inputs.size() <= kSizes || !HasShape(inputs[0]) || !inputs[kSizes].has_tensor_type()) return;
  auto* shape = inputs[kSizes].mutable_tensor_type()->mutable_shape();
  if (shape->dim_size() > 1 || (shape->dim_size() == 1 && shape->dim(0).has_dim_value())) return;
  const std::vector<int64_t> axes = node.attributes.Ints("axes");
  shape->clear_dim();
  shape->add_dim()->set_dim_value(axes.empty() ? inputs[0].tensor_type().shape().dim_size()
                                               : static_cast<int64_t>(axes.size()));
}

void HideBatch(std::vector<onnx::TypeProto>& inputs) {
  if (inputs.empty() || !HasShape(inputs[0])) return;
  const auto& shape = inputs[0].tensor_type().shape();
  if (shape.dim_size() == 2 && !shape.dim(0).has_dim_value())
    inputs[0].mutable_tensor_type()->clear_shape();
}

void HideScalar(std::vector<onnx::TypeProto>& inputs) {
  if (!inputs.empty() && HasShape(inputs[0]) && inputs[0].tensor_type().shape().dim_size() == 0)
    inputs[0].mutable_tensor_type()->clear_shape();
}

}  // namespace

void CompleteMisreadShapes(const Node& node, std::vector<onnx::TypeProto>& inputs) {
  if (node.Is("Resize")) CompleteSizes(node, inputs);
  if (node.Is("StringNormalizer")) HideBatch(inputs);
  if (node.Is("ArgMax") || node.Is("ArgMin") || node.Is("OneHot")) HideScalar(inputs);
}

}  // namespace onward
