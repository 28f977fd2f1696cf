// AttributeProto -> Attribute, and what a schema says about a node's attributes.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "onnx/onnx_pb.h"
#include "onnx_io/tensor_proto.h"
#include "onward/attribute.h"
#include "onward/graph.h"

namespace onward::onnx_io {

// The declared kind; where old files leave it open, the kind of the field that is set.
onnx::AttributeProto::AttributeType AttributeKind(const onnx::AttributeProto& proto);

// Graphs are not attributes here (see Node::subgraphs): InvalidArgument. Sparse tensors become
// dense.
absl::StatusOr<Attribute> AttributeFromProto(const onnx::AttributeProto& proto,
                                             const TensorSource& source);

// OK when the node's op takes an attribute of this name and kind.
absl::Status CheckAttributeKind(const Node& node, const onnx::AttributeProto& proto);

// The tensor that a Constant node with this one attribute stands for.
absl::StatusOr<Tensor> ConstantFromAttribute(const onnx::AttributeProto& proto,
                                             const TensorSource& source);

}  // namespace onward::onnx_io
