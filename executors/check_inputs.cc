#include "executors/check_inputs.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "onward/status.h"

namespace onward {
namespace {

int EditDistance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

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

std::string ClosestName(std::string_view name, absl::Span<const std::string> candidates) {
  std::string best;
  int best_distance = static_cast<int>(name.size()) / 2 + 2;
  for (const std::string& candidate : candidates) {
    const int distance = EditDistance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace onward

namespace onward::executors {

absl::StatusOr<std::vector<Value>> OrderInputs(const std::vector<ValueInfo>& declared,
                                               const std::map<std::string, Value>& named) {
  std::vector<std::string> names;
  for (const ValueInfo& info : declared) names.push_back(info.name);
  for (const auto& [name, value] : named) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const std::string closest = ClosestName(name, names);
    return absl::InvalidArgumentError(
        absl::StrCat("the model has no input '", name, "'",
                     closest.empty() ? "" : absl::StrCat("; did you mean '", closest, "'?"),
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
