#include "graph/infer/check.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/infer/check_windows.h"
#include "graph/infer/type_proto.h"
#include "onnx/defs/data_type_utils.h"
#include "onnx/defs/schema.h"
#include "onward/shape.h"
#include "onward/status.h"

namespace onward {
namespace {

using onnx::OpSchema;

constexpr int64_t kMostParts = 1 << 16;  // of a Split

// ONNX's interned spelling of a type ("tensor(float)"), null where it has none.
onnx::DataType SpellingOf(const Type& type) {
  if (type.is_tensor()) {
    static const std::array<onnx::DataType, kNumDTypes>* table = [] {
      auto* spellings = new std::array<onnx::DataType, kNumDTypes>();
      for (int i = 1; i < kNumDTypes; ++i) {
        onnx::TypeProto proto;
        proto.mutable_tensor_type()->set_elem_type(i);
        (*spellings)[static_cast<size_t>(i)] = onnx::Utils::DataTypeUtils::ToType(proto);
      }
      return spellings;
    }();
    return (*table)[static_cast<size_t>(type.dtype)];
  }
  for (const Type* t = &type; t != nullptr; t = t->element.get()) {
    if (t->kind == Type::Kind::kUnknown) return nullptr;
    const bool is_tensor = t->kind == Type::Kind::kTensor || t->kind == Type::Kind::kSparseTensor;
    const bool has_dtype = is_tensor || t->kind == Type::Kind::kMap;
    if (has_dtype && t->dtype == DType::kUndefined) return nullptr;
    if (!is_tensor && t->element == nullptr) return nullptr;
  }
  onnx::TypeProto proto;
  TypeToProto(type, &proto);
  return onnx::Utils::DataTypeUtils::ToType(proto);
}

// The formal parameter of the i-th argument; the last one may be variadic.
const OpSchema::FormalParameter* Formal(const std::vector<OpSchema::FormalParameter>& formals,
                                        size_t i) {
  if (i < formals.size()) return &formals[i];
  return formals.empty() || formals.back().GetOption() != OpSchema::Variadic ? nullptr
                                                                             : &formals.back();
}

// The one type that a formal parameter may have, without a shape; unknown where there are several.
Type OnlyType(const OpSchema::FormalParameter& formal) {
  if (formal.GetTypes().size() != 1) return Type();
  Type type = TypeFromProto(onnx::Utils::DataTypeUtils::ToTypeProto(*formal.GetTypes().begin()));
  type.shape.reset();
  return type;
}

absl::Status CheckCounts(const OpSchema& schema, const Node& node) {
  const auto check = [](std::string_view what, size_t count, int min, int max) -> absl::Status {
    if (static_cast<int>(count) >= min && static_cast<int>(count) <= max) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("has ", count, " ", std::string(what), ", the op takes ", min,
                     min == max                               ? ""
                     : max == std::numeric_limits<int>::max() ? " or more"
                                                              : absl::StrCat(" to ", max)));
  };
  ONWARD_RETURN_IF_ERROR(
      check("inputs", node.inputs.size(), schema.min_input(), schema.max_input()));
  return check("outputs", node.outputs.size(), schema.min_output(), schema.max_output());
}

absl::Status CheckInputs(const OpSchema& schema, const Graph& graph, const Node& node) {
  // The first input that fixed each type parameter.
  std::map<std::string_view, std::pair<onnx::DataType, size_t>> bound;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const OpSchema::FormalParameter* formal = Formal(schema.inputs(), i);
    if (formal == nullptr) break;
    const auto named = [&] { return absl::StrCat("input ", i, " '", formal->GetName(), "'"); };
    if (!node.inputs[i].valid()) {
      if (formal->GetOption() == OpSchema::Optional) continue;
      return absl::InvalidArgumentError(absl::StrCat(named(), " is missing"));
    }
    const Type& type = graph.type(node.inputs[i]);
    const onnx::DataType spelling = SpellingOf(type);
    if (spelling == nullptr) continue;
    const auto& allowed = formal->GetTypes();
    if (!allowed.empty() && allowed.count(spelling) == 0) {
      std::vector<std::string> names;
      for (onnx::DataType name : allowed) names.push_back(*name);
      std::sort(names.begin(), names.end());
      return absl::InvalidArgumentError(
          absl::StrCat(named(), " is ", *spelling, ", allowed: ", absl::StrJoin(names, ", ")));
    }
    if (!formal->GetIsHomogeneous()) continue;
    const auto [it, first] = bound.try_emplace(formal->GetTypeStr(), spelling, i);
    if (!first && it->second.first != spelling) {
      return absl::InvalidArgumentError(absl::StrCat(
          named(), " is ", *spelling, ", but input ", it->second.second,
          " of the same type parameter ", formal->GetTypeStr(), " is ", *it->second.first));
    }
  }
  return absl::OkStatus();
}

onnx::AttributeProto::AttributeType KindOf(const Attribute& attribute) {
  using P = onnx::AttributeProto;
  // In the order of Attribute's alternatives.
  constexpr P::AttributeType kKinds[] = {P::INT,        P::FLOAT,      P::STRING, P::TENSOR,
                                         P::TYPE_PROTO, P::INTS,       P::FLOATS, P::STRINGS,
                                         P::TENSORS,    P::TYPE_PROTOS};
  static_assert(std::size(kKinds) == std::variant_size_v<Attribute>);
  return kKinds[attribute.index()];
}

absl::Status CheckAttributes(const OpSchema& schema, const Node& node) {
  const auto& formals = schema.attributes();
  for (const auto& [name, attribute] : node.attributes.map()) {
    const auto it = formals.find(name);
    if (it == formals.end()) {
      return absl::InvalidArgumentError(absl::StrCat("the op has no attribute '", name, "'"));
    }
    if (KindOf(attribute) != it->second.type) {
      return absl::InvalidArgumentError(absl::StrCat(
          "attribute '", name, "' is ", onnx::AttributeProto::AttributeType_Name(KindOf(attribute)),
          ", the op takes ",
          onnx::AttributeProto::AttributeType_Name(
              static_cast<onnx::AttributeProto::AttributeType>(it->second.type))));
    }
  }
  for (const auto& [name, formal] : formals) {
    if (formal.required && !node.attributes.Has(name) && node.FindSubgraph(name) == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("attribute '", name, "' is missing"));
    }
  }
  return absl::OkStatus();
}

// Refuses lists that rewrites and gradients use as indices even where shapes are not known.
absl::Status CheckLists(const Node& node) {
  if (node.op_type == "MaxRoiPool") {
    const std::vector<int64_t> bins = node.attributes.Ints("pooled_shape");
    if (bins.size() != 2 || bins[0] < 1 || bins[1] < 1)
      return absl::InvalidArgumentError("pooled_shape must be two numbers of at least 1");
  }
  if (node.op_type != "Transpose") return absl::OkStatus();
  const std::vector<int64_t> order = node.attributes.Ints("perm");
  std::vector<bool> seen(order.size());
  for (const int64_t axis : order) {
    const bool is_axis = axis >= 0 && axis < static_cast<int64_t>(order.size());
    if (!is_axis || seen[static_cast<size_t>(axis)])
      return absl::InvalidArgumentError(absl::StrCat("perm [", absl::StrJoin(order, ", "),
                                                     "] does not name each axis from 0 to ",
                                                     order.size() - 1, " once"));
    seen[static_cast<size_t>(axis)] = true;
  }
  return absl::OkStatus();
}

// Checks the values that inference functions use as indices and sizes without a check of their own.
absl::Status CheckIndices(const Graph& graph, const Node& node) {
  const SymbolicDims* shape = nullptr;
  if (!node.inputs.empty() && node.inputs[0].valid() && graph.type(node.inputs[0]).is_tensor()) {
    const Type& type = graph.type(node.inputs[0]);
    if (type.shape) shape = &*type.shape;
  }
  const int64_t axis = node.attributes.Int("axis", 0);
  if (axis < std::numeric_limits<int32_t>::min() || axis > std::numeric_limits<int32_t>::max()) {
    return absl::InvalidArgumentError(absl::StrCat("axis ", axis, " is out of range"));
  }
  if (!node.domain.empty()) return absl::OkStatus();
  ONWARD_RETURN_IF_ERROR(CheckLists(node));
  if (const int64_t parts = node.attributes.Int("num_outputs", 1);
      node.op_type == "Split" && (parts < 1 || parts > kMostParts)) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_outputs ", parts, " is out of range, at most ", kMostParts));
  } else if (node.attributes.Has("num_outputs") && node.op_type == "Split" &&
             static_cast<size_t>(parts) < node.outputs.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", node.outputs.size(), " outputs, num_outputs is ", parts));
  }
  if (shape == nullptr) return absl::OkStatus();
  const auto rank = static_cast<int64_t>(shape->size());
  if (node.op_type == "LayerNormalization" || node.op_type == "RMSNormalization") {
    return NormalizeAxis(node.attributes.Int("axis", -1), rank).status();
  }
  if (node.op_type == "GatherND") {
    const int64_t batch_dims = node.attributes.Int("batch_dims", 0);
    if (batch_dims < 0 || batch_dims >= std::max<int64_t>(rank, 1)) {
      return absl::InvalidArgumentError(
          absl::StrCat("batch_dims ", batch_dims, " is out of range for rank ", rank));
    }
  }
  return absl::OkStatus();
}

// The input that fixes each type parameter.
std::map<std::string_view, const Type*> BoundTypes(const Graph& graph, const Node& node) {
  std::map<std::string_view, const Type*> bound;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const OpSchema::FormalParameter* formal = Formal(node.schema->inputs(), i);
    if (formal == nullptr || !formal->GetIsHomogeneous() || !node.inputs[i].valid()) continue;
    const Type& type = graph.type(node.inputs[i]);
    if (SpellingOf(type) != nullptr) bound.try_emplace(formal->GetTypeStr(), &type);
  }
  return bound;
}

}  // namespace

absl::Status CheckAgainstSchema(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  ONWARD_RETURN_IF_ERROR(CheckCounts(*node.schema, node));
  ONWARD_RETURN_IF_ERROR(CheckAttributes(*node.schema, node));
  ONWARD_RETURN_IF_ERROR(CheckInputs(*node.schema, graph, node));
  ONWARD_RETURN_IF_ERROR(CheckIndices(graph, node));
  return CheckWindows(graph, node);
}

absl::Status CheckInputsAreKnown(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.inputs[i].valid() || SpellingOf(graph.type(node.inputs[i])) != nullptr) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "the type of its input ", i, " '", graph.value(node.inputs[i]).name, "' is not known"));
  }
  return absl::OkStatus();
}

void CorrectDTypes(const Graph& graph, const Node& node, std::vector<Type>& outputs) {
  const std::map<std::string_view, const Type*> bound = BoundTypes(graph, node);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const OpSchema::FormalParameter* formal = Formal(node.schema->outputs(), i);
    if (formal == nullptr || !formal->GetIsHomogeneous()) continue;
    const bool unknown = outputs[i].kind == Type::Kind::kUnknown;
    if (!unknown && !outputs[i].is_tensor()) continue;
    const auto it = bound.find(formal->GetTypeStr());
    if (unknown && it == bound.end()) outputs[i] = OnlyType(*formal);
    if (it == bound.end() || !it->second->is_tensor()) continue;
    if (unknown) {
      outputs[i] = Type::Tensor(it->second->dtype);
    } else {
      outputs[i].dtype = it->second->dtype;
    }
  }
}

absl::Status CheckOutputTypes(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const std::map<std::string_view, const Type*> bound = BoundTypes(graph, node);
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const OpSchema::FormalParameter* formal = Formal(node.schema->outputs(), i);
    if (formal == nullptr || !node.outputs[i].valid()) continue;
    const Type& type = graph.type(node.outputs[i]);
    const onnx::DataType spelling = SpellingOf(type);
    if (spelling == nullptr) continue;
    const auto it = formal->GetIsHomogeneous() ? bound.find(formal->GetTypeStr()) : bound.end();
    const bool fits = it != bound.end()
                          ? SpellingOf(*it->second) == spelling
                          : formal->GetTypes().empty() || formal->GetTypes().count(spelling) != 0;
    if (fits) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("output ", i, " '", formal->GetName(), "' is ", *spelling, ", the op ",
                     it != bound.end() ? "makes " : "does not make it",
                     it != bound.end() ? *SpellingOf(*it->second) : ""));
  }
  return absl::OkStatus();
}

}  // namespace onward
