#include "training/data/record_field.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "files/utf8.h"
#include "onward/status.h"

namespace onward::training {
namespace {

constexpr DType kDTypes[] = {DType::kFloat32, DType::kFloat64, DType::kInt64,
                             DType::kInt32,   DType::kBool,    DType::kString};

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// The whole text as a number.
template <typename T>
std::optional<T> Parse(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  T value;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<bool> ParseBool(std::string_view text) {
  for (const std::string_view yes : {"1", "true", "True", "TRUE"})
    if (text == yes) return true;
  for (const std::string_view no : {"0", "false", "False", "FALSE"})
    if (text == no) return false;
  return std::nullopt;
}

absl::Status IsNot(std::string_view text, std::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", files::PrintableUtf8(text.substr(0, 80)), "' is not ", std::string(what)));
}

}  // namespace

absl::StatusOr<RecordElements> RecordElements::Make(const RecordField& field) {
  RecordElements made;
  made.dtype_ = field.class_().empty() ? kDTypes[field.element()] : DType::kInt64;
  for (const std::string& name : field.class_()) {
    if (!made.classes_.emplace(name, made.classes_.size()).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("field '", field.name(), "': class '", name, "' appears twice"));
    }
  }
  if (field.has_missing()) made.missing_ = field.missing();
  made.mean_ = field.mean();
  made.deviation_ = field.deviation();
  if (!std::isfinite(made.mean_) || !(made.deviation_ > 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("field '", field.name(), "': mean must be finite, deviation positive"));
  }
  return made;
}

absl::Status RecordElements::SetNumber(double value, int64_t index, Tensor& tensor) const {
  value = (value - mean_) / deviation_;
  if (dtype_ == DType::kFloat64) {
    tensor.mutable_data<double>()[index] = value;
  } else {
    tensor.mutable_data<float>()[index] = static_cast<float>(value);
  }
  return absl::OkStatus();
}

absl::Status RecordElements::SetInteger(int64_t value, int64_t index, Tensor& tensor) const {
  if (dtype_ == DType::kInt64) {
    tensor.mutable_data<int64_t>()[index] = value;
    return absl::OkStatus();
  }
  if (value != static_cast<int32_t>(value)) return IsNot(absl::StrCat(value), "a 32-bit integer");
  tensor.mutable_data<int32_t>()[index] = static_cast<int32_t>(value);
  return absl::OkStatus();
}

absl::Status RecordElements::SetClass(std::string_view text, int64_t index, Tensor& tensor) const {
  const auto known = classes_.find(text);
  if (known == classes_.end()) return IsNot(text, "a class");
  return SetInteger(known->second, index, tensor);
}

absl::Status RecordElements::SetMissing(int64_t index, Tensor& tensor) const {
  if (!missing_) return absl::InvalidArgumentError("the value is missing");
  if (is_float()) {
    // A value that stands for a missing one is given as the normalised one, and is not shifted.
    return SetNumber(*missing_ * deviation_ + mean_, index, tensor);
  }
  if (dtype_ == DType::kBool) {
    tensor.mutable_data<bool>()[index] = *missing_ != 0;
    return absl::OkStatus();
  }
  if (!(std::abs(*missing_) < 0x1p62))
    return absl::InvalidArgumentError(absl::StrCat("missing: ", *missing_, " is not an integer"));
  return SetInteger(std::llround(*missing_), index, tensor);
}

absl::Status RecordElements::FromText(std::string_view text, int64_t index, Tensor& tensor) const {
  if (dtype_ == DType::kString) {
    tensor.mutable_data<std::string>()[index] = std::string(text);
    return absl::OkStatus();
  }
  const std::string_view trimmed = Trim(text);
  if (trimmed.empty() && (missing_ || classes_.count("") == 0)) return SetMissing(index, tensor);
  if (!classes_.empty()) return SetClass(classes_.count(text) > 0 ? text : trimmed, index, tensor);
  if (is_float()) {
    const std::optional<double> value = Parse<double>(trimmed);
    return value ? SetNumber(*value, index, tensor) : IsNot(text, "a number");
  }
  if (dtype_ == DType::kBool) {
    const std::optional<bool> value = ParseBool(trimmed);
    if (!value) return IsNot(text, "a bool");
    tensor.mutable_data<bool>()[index] = *value;
    return absl::OkStatus();
  }
  const std::optional<int64_t> value = Parse<int64_t>(trimmed);
  return value ? SetInteger(*value, index, tensor) : IsNot(text, "an integer");
}

absl::Status RecordElements::FromJson(const nlohmann::json& value, int64_t index,
                                      Tensor& tensor) const {
  using nlohmann::json;
  const auto text = [&] { return value.dump(-1, ' ', false, json::error_handler_t::replace); };
  if (value.is_null()) {
    if (dtype_ != DType::kString) return SetMissing(index, tensor);
    return absl::InvalidArgumentError("the value is missing");
  }
  if (!classes_.empty())
    return SetClass(value.is_string() ? value.get_ref<const std::string&>() : text(), index,
                    tensor);
  if (dtype_ == DType::kString) {
    if (!value.is_string()) return IsNot(text(), "a string");
    tensor.mutable_data<std::string>()[index] = value.get_ref<const std::string&>();
    return absl::OkStatus();
  }
  if (dtype_ == DType::kBool) {
    if (!value.is_boolean()) return IsNot(text(), "a bool");
    tensor.mutable_data<bool>()[index] = value.get<bool>();
    return absl::OkStatus();
  }
  if (is_float())
    return value.is_number() ? SetNumber(value.get<double>(), index, tensor)
                             : IsNot(text(), "a number");
  const bool fits = value.is_number_integer() &&
                    !(value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX);
  return fits ? SetInteger(value.get<int64_t>(), index, tensor) : IsNot(text(), "an integer");
}

SymbolicDims RecordDims(const RecordField& field) {
  SymbolicDims dims;
  for (const int64_t dim : field.dim()) {
    const std::string name = absl::StrCat(field.name(), "_", dims.size());
    dims.push_back(dim < 0 ? SymbolDim(name) : Dim(dim));
  }
  return dims;
}

int64_t LineOf(std::string_view bytes, size_t offset) {
  return 1 + std::count(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(offset), '\n');
}

}  // namespace onward::training
