#include "onnx_io/import_attributes.h"

#include "absl/strings/str_cat.h"
#include "files/utf8.h"
#include "onnx/defs/schema.h"
#include "onnx_io/check_type.h"
#include "onward/status.h"

namespace onward::onnx_io {
namespace {

using onnx::AttributeProto;

template <typename T, typename Protos, typename Convert>
absl::StatusOr<Attribute> ListFrom(const Protos& protos, Convert&& convert) {
  std::vector<T> list;
  for (const auto& proto : protos) {
    ONWARD_ASSIGN_OR_RETURN(T element, convert(proto));
    list.push_back(std::move(element));
  }
  return Attribute(std::move(list));
}

std::string KindName(AttributeProto::AttributeType kind) {
  return AttributeProto::AttributeType_Name(kind);
}

}  // namespace

AttributeProto::AttributeType AttributeKind(const AttributeProto& proto) {
  if (proto.type() != AttributeProto::UNDEFINED) return proto.type();
  if (proto.has_f()) return AttributeProto::FLOAT;
  if (proto.has_i()) return AttributeProto::INT;
  if (proto.has_s()) return AttributeProto::STRING;
  if (proto.has_t()) return AttributeProto::TENSOR;
  if (proto.has_g()) return AttributeProto::GRAPH;
  if (proto.has_sparse_tensor()) return AttributeProto::SPARSE_TENSOR;
  if (proto.has_tp()) return AttributeProto::TYPE_PROTO;
  if (proto.floats_size() > 0) return AttributeProto::FLOATS;
  if (proto.ints_size() > 0) return AttributeProto::INTS;
  if (proto.strings_size() > 0) return AttributeProto::STRINGS;
  if (proto.tensors_size() > 0) return AttributeProto::TENSORS;
  if (proto.graphs_size() > 0) return AttributeProto::GRAPHS;
  return AttributeProto::UNDEFINED;
}

absl::StatusOr<Attribute> AttributeFromProto(const AttributeProto& proto,
                                             const TensorSource& source) {
  switch (const auto kind = AttributeKind(proto)) {
    case AttributeProto::FLOAT:
      return Attribute(proto.f());
    case AttributeProto::INT:
      return Attribute(static_cast<int64_t>(proto.i()));
    case AttributeProto::STRING:
      return Attribute(proto.s());
    case AttributeProto::FLOATS:
      return Attribute(std::vector<float>(proto.floats().begin(), proto.floats().end()));
    case AttributeProto::INTS:
      return Attribute(std::vector<int64_t>(proto.ints().begin(), proto.ints().end()));
    case AttributeProto::STRINGS:
      return Attribute(std::vector<std::string>(proto.strings().begin(), proto.strings().end()));
    case AttributeProto::TENSOR: {
      ONWARD_ASSIGN_OR_RETURN(Tensor tensor, TensorFromProto(proto.t(), source));
      return Attribute(std::move(tensor));
    }
    case AttributeProto::SPARSE_TENSOR: {
      ONWARD_ASSIGN_OR_RETURN(Tensor tensor, TensorFromSparseProto(proto.sparse_tensor(), source));
      return Attribute(std::move(tensor));
    }
    case AttributeProto::TYPE_PROTO: {
      absl::StatusOr<Type> type = CheckedTypeFromProto(proto.tp(), source.max_rank);
      if (!type.ok()) return type.status();
      return Attribute(*std::move(type));
    }
    case AttributeProto::TENSORS:
      return ListFrom<Tensor>(proto.tensors(),
                              [&](const auto& t) { return TensorFromProto(t, source); });
    case AttributeProto::SPARSE_TENSORS:
      return ListFrom<Tensor>(proto.sparse_tensors(),
                              [&](const auto& t) { return TensorFromSparseProto(t, source); });
    case AttributeProto::TYPE_PROTOS:
      return ListFrom<Type>(proto.type_protos(), [&](const auto& t) {
        return CheckedTypeFromProto(t, source.max_rank);
      });
    case AttributeProto::UNDEFINED:
      return absl::InvalidArgumentError("has neither a type nor a value");
    case AttributeProto::GRAPH:
    case AttributeProto::GRAPHS:
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("of kind ", KindName(kind), " is not allowed here"));
  }
}

absl::Status CheckAttributeKind(const Node& node, const AttributeProto& proto) {
  const auto& declared = node.schema->attributes();
  const auto it = declared.find(proto.name());
  if (it == declared.end()) {
    // The one schema with AllowUncheckedAttributes(), which it does not tell.
    if (node.Is("LayerNormalization")) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("is not one that ", node.op_type, " takes in this opset"));
  }
  const auto kind = AttributeKind(proto);
  const auto expected = it->second.type;
  if (kind == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("has kind ", KindName(kind), ", expected ", KindName(expected)));
}

absl::StatusOr<Tensor> ConstantFromAttribute(const AttributeProto& proto,
                                             const TensorSource& source) {
  ONWARD_ASSIGN_OR_RETURN(const Attribute value, AttributeFromProto(proto, source));
  if (const auto* tensor = std::get_if<Tensor>(&value)) return *tensor;
  if (const auto* one = std::get_if<int64_t>(&value)) return Tensor::Scalar(*one);
  if (const auto* one = std::get_if<float>(&value)) return Tensor::Scalar(*one);
  if (const auto* one = std::get_if<std::string>(&value)) return Tensor::Scalar(*one);
  const auto list = [](const auto& values) {
    using T = typename std::decay_t<decltype(values)>::value_type;
    return Tensor::Of<T>({static_cast<int64_t>(values.size())}, absl::MakeConstSpan(values));
  };
  if (const auto* many = std::get_if<std::vector<int64_t>>(&value)) return list(*many);
  if (const auto* many = std::get_if<std::vector<float>>(&value)) return list(*many);
  if (const auto* many = std::get_if<std::vector<std::string>>(&value)) return list(*many);
  return absl::InvalidArgumentError(
      absl::StrCat("of kind ", KindName(AttributeKind(proto)), " is not a constant"));
}

}  // namespace onward::onnx_io
