// Values as text: str(), repr() and json.dumps() of Python.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "files/chat_template/rendering.h"
#include "files/chat_template/value.h"

namespace onward::chat_template {

// InvalidArgument: Python would print an address.
absl::StatusOr<std::string> ToText(Rendering& rendering, const Value& value);
absl::StatusOr<std::string> ToRepr(Rendering& rendering, const Value& value);

struct JsonStyle {
  bool ensure_ascii = false, sort_keys = false;
  std::optional<std::string> indent;
  std::string between_items = ", ", behind_keys = ": ";
};
absl::StatusOr<std::string> ToJson(Rendering& rendering, const Value& value,
                                   const JsonStyle& style);

}  // namespace onward::chat_template
