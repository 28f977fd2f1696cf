#include "files/tokenizer/json_field.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "files/utf8.h"
#include "onward/status.h"

namespace onward::tokenizer {

absl::Status JsonField::Error(std::string_view what) const {
  return absl::InvalidArgumentError(
      absl::StrCat(path_, path_.empty() ? "" : ": ", std::string(what)));
}

absl::StatusOr<std::string> JsonField::String() const {
  if (!value_->is_string()) return Error("must be a string");
  return value_->get_ref<const std::string&>();
}

absl::StatusOr<int64_t> JsonField::Integer() const {
  if (!value_->is_number_unsigned() || value_->get<uint64_t>() > INT32_MAX)
    return Error("must be an integer from 0 to 2147483647");
  return value_->get<int64_t>();
}

absl::StatusOr<double> JsonField::Number() const {
  if (!value_->is_number()) return Error("must be a number");
  return value_->get<double>();
}

absl::StatusOr<std::vector<JsonField>> JsonField::Items() const {
  if (!value_->is_array()) return Error("must be a list");
  std::vector<JsonField> items;
  items.reserve(value_->size());
  for (size_t i = 0; i < value_->size(); ++i)
    items.emplace_back((*value_)[i], absl::StrCat(path_, "[", i, "]"));
  return items;
}

bool JsonField::Has(const char* name) const {
  if (!value_->is_object()) return false;
  const auto found = value_->find(name);
  return found != value_->end() && !found->is_null();
}

absl::StatusOr<JsonField> JsonField::At(const char* name) const {
  if (!value_->is_object()) return Error("must be an object");
  const auto found = value_->find(name);
  if (found == value_->end() || found->is_null())
    return absl::InvalidArgumentError(
        absl::StrCat(path_, path_.empty() ? "" : ".", name, " is missing"));
  return JsonField(*found, path_.empty() ? name : absl::StrCat(path_, ".", name));
}

absl::StatusOr<std::string> JsonField::String(const char* name,
                                              std::optional<std::string> otherwise) const {
  if (otherwise.has_value() && !Has(name)) return *std::move(otherwise);
  ONWARD_ASSIGN_OR_RETURN(const JsonField field, At(name));
  return field.String();
}

absl::StatusOr<bool> JsonField::Bool(const char* name, std::optional<bool> otherwise) const {
  if (otherwise.has_value() && !Has(name)) return *otherwise;
  ONWARD_ASSIGN_OR_RETURN(const JsonField field, At(name));
  if (!field.value().is_boolean()) return field.Error("must be true or false");
  return field.value().get<bool>();
}

absl::StatusOr<int64_t> JsonField::Integer(const char* name,
                                           std::optional<int64_t> otherwise) const {
  if (otherwise.has_value() && !Has(name)) return *otherwise;
  ONWARD_ASSIGN_OR_RETURN(const JsonField field, At(name));
  return field.Integer();
}

absl::StatusOr<std::vector<JsonField>> JsonField::Items(const char* name) const {
  ONWARD_ASSIGN_OR_RETURN(const JsonField field, At(name));
  return field.Items();
}

absl::Status JsonField::Only(std::initializer_list<std::string_view> names) const {
  if (!value_->is_object()) return Error("must be an object");
  for (const auto& [key, member] : value_->items()) {
    if (std::find(names.begin(), names.end(), key) != names.end()) continue;
    return absl::InvalidArgumentError(absl::StrCat(path_, path_.empty() ? "" : ".",
                                                   files::PrintableUtf8(key), " is not supported"));
  }
  return absl::OkStatus();
}

}  // namespace onward::tokenizer
