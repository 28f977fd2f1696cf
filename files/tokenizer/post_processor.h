// Post-processors: the special tokens around a text.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "files/tokenizer/json_field.h"

namespace onward::tokenizer {

class PostProcessor {
 public:
  // null: none.
  static absl::StatusOr<PostProcessor> Read(const JsonField& field);

  std::vector<int64_t> Apply(std::vector<int64_t> ids, bool add_special) const;

 private:
  // The text's ids, or special ones.
  struct Item {
    bool text = true;
    std::vector<int64_t> ids;
  };
  using Template = std::vector<Item>;

  absl::Status Add(const JsonField& field);
  absl::Status AddTemplate(const JsonField& field);
  absl::Status AddPair(const JsonField& field);

  std::vector<Template> templates_;  // one after the other
};

}  // namespace onward::tokenizer
