// Post-processors: the special tokens around a text, or around the two texts of a pair.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "files/tokenizer/encoding.h"
#include "files/tokenizer/json_field.h"

namespace onward::tokenizer {

class PostProcessor {
 public:
  // null: none.
  static absl::StatusOr<PostProcessor> Read(const JsonField& field);

  files::Encoding Apply(std::vector<int64_t> ids, bool add_special) const;
  // Unimplemented: several templates apply, one after the other.
  absl::StatusOr<files::Encoding> ApplyToPair(const std::vector<int64_t>& first,
                                              const std::vector<int64_t>& second,
                                              bool add_special) const;
  // The number of special tokens that they add.
  size_t AddedToText() const;
  size_t AddedToPair() const;
  // The special tokens that stand before a text, and whether any stands behind it.
  std::vector<int64_t> BeforeText() const;
  bool AddsBehindText() const;

 private:
  // The ids of a text, or special ones; `type` is that of each.
  struct Item {
    enum class Kind { kFirst, kSecond, kSpecial };
    Kind kind;
    std::vector<int64_t> ids;
    int64_t type = 0;
  };
  using Template = std::vector<Item>;
  struct Templates {
    Template text, pair;
  };

  absl::Status Add(const JsonField& field);
  absl::Status AddTemplates(const JsonField& field);
  absl::Status AddAround(const JsonField& field, bool roberta);
  static absl::StatusOr<Template> ReadTemplate(const JsonField& field, const char* name, bool pair);
  static absl::StatusOr<Item> ReadSpecial(const JsonField& field, const JsonField& token);
  static size_t Added(const Template& made);

  std::vector<Templates> templates_;  // one after the other
};

}  // namespace onward::tokenizer
