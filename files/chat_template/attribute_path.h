// "message.content": what filters take of each item.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "files/chat_template/builtins.h"

namespace onward::chat_template {

struct AttributePath {
  std::vector<Value> parts;        // texts and integers; none of them: the item itself
  std::optional<Value> otherwise;  // for what is undefined

  static AttributePath Of(const std::string& text);
  // From an argument that may be missing, none, a text or an integer.
  static absl::StatusOr<AttributePath> Of(const Bound& arguments, size_t i);
  absl::StatusOr<Value> Get(Rendering& rendering, const Value& item) const;
};

}  // namespace onward::chat_template
