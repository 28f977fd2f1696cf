#include "executors/check_inputs.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/closest_name.h"
#include "onward/status.h"

namespace onward::executors {
namespace {

std::string Got(const TensorView& tensor) {
  return absl::StrCat(std::string(DTypeName(tensor.dtype)), DimsString(tensor.dims));
}

absl::Status CheckTensor(const ValueInfo& info, const TensorView& tensor) {
  const auto fail = [&](std::string why) {
    return absl::InvalidArgumentError(absl::StrCat("input '", info.name, "': ", why, " (expected ",
                                                   info.type.ToString(), ", got ", Got(tensor),
                                                   ")"));
  };
  if (tensor.dtype != info.type.dtype) return fail("wrong dtype");
  if (!info.type.shape) return absl::OkStatus();
  const SymbolicDims& shape = *info.type.shape;
  if (shape.size() != tensor.dims.size())
    return fail(absl::StrCat("wrong rank ", tensor.dims.size()));
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i].known() && shape[i].value() != tensor.dims[i])
      return fail(absl::StrCat("dimension ", i, " is ", tensor.dims[i]));
  }
  return absl::OkStatus();
}

// Returns whether a tensor of the dtype may stand for the type; an optional holds its element.
bool TensorFits(const Type& type, DType dtype) {
  if (type.is_tensor()) return type.dtype == dtype;
  return type.kind == Type::Kind::kOptional && type.element != nullptr &&
         TensorFits(*type.element, dtype);
}

bool MapFits(const Type& type, const MapData& map) {
  if (std::holds_alternative<std::map<std::string, Tensor>>(map) !=
      (type.dtype == DType::kString)) {
    return false;
  }
  return std::visit(
      [&](const auto& entries) {
        return std::all_of(entries.begin(), entries.end(), [&](const auto& entry) {
          return type.element && TensorFits(*type.element, entry.second.dtype());
        });
      },
      map);
}

bool ObjectFits(const Type& type, const Value& value) {
  if (type.kind == Type::Kind::kUnknown) return true;
  if (type.kind == Type::Kind::kOptional) {
    return !value.has_value() || (type.element != nullptr && ObjectFits(*type.element, value));
  }
  if (value.is_tensor()) return TensorFits(type, value.tensor().dtype());
  if (type.kind == Type::Kind::kMap) return value.is_map() && MapFits(type, value.map());
  if (type.kind != Type::Kind::kSequence || !value.is_sequence()) return false;
  return std::all_of(value.sequence().begin(), value.sequence().end(), [&](const Value& element) {
    return type.element && ObjectFits(*type.element, element);
  });
}

}  // namespace

absl::StatusOr<std::vector<Value>> OrderInputs(const std::vector<ValueInfo>& declared,
                                               const std::map<std::string, Value>& named) {
  std::vector<std::string> names;
  for (const ValueInfo& info : declared) names.push_back(info.name);
  for (const auto& [name, value] : named) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    return absl::InvalidArgumentError(absl::StrCat("the model has no input '", name, "'",
                                                   DidYouMean(name, names),
                                                   " (inputs: ", absl::StrJoin(names, ", "), ")"));
  }
  std::vector<Value> values;
  std::vector<std::string> missing;
  for (const ValueInfo& info : declared) {
    const auto it = named.find(info.name);
    if (it == named.end() && !info.optional && info.type.kind != Type::Kind::kOptional) {
      missing.push_back(absl::StrCat("'", info.name, "' (", info.type.ToString(), ")"));
    }
    values.push_back(it == named.end() ? Value() : it->second);
  }
  if (missing.empty()) return values;
  return absl::InvalidArgumentError(absl::StrCat("missing input ", absl::StrJoin(missing, ", ")));
}

absl::Status CheckInputs(const std::vector<ValueInfo>& declared,
                         absl::Span<const SlotValue> inputs) {
  for (size_t i = 0; i < declared.size(); ++i) {
    const ValueInfo& info = declared[i];
    const SlotValue& input = inputs[i];
    if (info.type.kind == Type::Kind::kUnknown) continue;
    if (info.type.is_tensor() && input.object == nullptr) {
      ONWARD_RETURN_IF_ERROR(CheckTensor(info, input.tensor));
      continue;
    }
    const bool fits = input.object != nullptr ? ObjectFits(info.type, *input.object)
                                              : TensorFits(info.type, input.tensor.dtype);
    if (fits) continue;
    const bool none = input.object != nullptr && !input.object->has_value();
    return absl::InvalidArgumentError(
        absl::StrCat("input '", info.name, "': expected ", info.type.ToString(),
                     none ? ", got none" : ", got another kind of value"));
  }
  return absl::OkStatus();
}

}  // namespace onward::executors
