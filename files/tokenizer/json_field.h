// Values of a tokenizer's JSON with the path to them, so that every error names the member.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace onward::tokenizer {

// The JSON outlives it.
class JsonField {
 public:
  JsonField(const nlohmann::json& value, std::string path) : value_(&value), path_(path) {}

  const nlohmann::json& value() const { return *value_; }
  const std::string& path() const { return path_; }
  bool is_null() const { return value_->is_null(); }

  // InvalidArgument: "path: what".
  absl::Status Error(std::string_view what) const;

  // The value itself; InvalidArgument where it is of another kind.
  absl::StatusOr<std::string> String() const;
  absl::StatusOr<int64_t> Integer() const;  // 0 to 2^31 - 1, what ids may be
  absl::StatusOr<double> Number() const;
  absl::StatusOr<std::vector<JsonField>> Items() const;

  // Members of an object. Without `otherwise` a member that is missing or null is an error.
  bool Has(const char* name) const;  // there and not null
  absl::StatusOr<JsonField> At(const char* name) const;
  absl::StatusOr<std::string> String(const char* name,
                                     std::optional<std::string> otherwise = std::nullopt) const;
  absl::StatusOr<bool> Bool(const char* name, std::optional<bool> otherwise = std::nullopt) const;
  absl::StatusOr<int64_t> Integer(const char* name,
                                  std::optional<int64_t> otherwise = std::nullopt) const;
  absl::StatusOr<std::vector<JsonField>> Items(const char* name) const;

  // InvalidArgument names a member that is none of these.
  absl::Status Only(std::initializer_list<std::string_view> names) const;

 private:
  const nlohmann::json* value_;
  std::string path_;
};

}  // namespace onward::tokenizer
