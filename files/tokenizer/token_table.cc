#include "files/tokenizer/token_table.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "files/utf8.h"
#include "onward/status.h"

namespace onward::tokenizer {

absl::StatusOr<TokenTable> TokenTable::Read(const JsonField& vocabulary) {
  if (!vocabulary.value().is_object()) return vocabulary.Error("must be an object");
  TokenTable table;
  table.ids_.reserve(vocabulary.value().size());
  table.texts_.reserve(vocabulary.value().size());
  for (const auto& [token, number] : vocabulary.value().items()) {
    if (!number.is_number_unsigned() || number.get<uint64_t>() > INT32_MAX) {
      return vocabulary.Error(absl::StrCat("the id of '", files::PrintableUtf8(token),
                                           "' must be an integer from 0 to 2147483647"));
    }
    const auto id = number.get<int64_t>();
    if (const std::string* other = table.Text(id)) {
      return vocabulary.Error(absl::StrCat("'", files::PrintableUtf8(*other), "' and '",
                                           files::PrintableUtf8(token), "' both have the id ", id));
    }
    table.Add(token, id);
  }
  return table;
}

void TokenTable::Add(std::string token, int64_t id) {
  ids_[token] = id;
  texts_.emplace(id, std::move(token));
  end_ = std::max(end_, id + 1);
}

std::optional<int64_t> TokenTable::Find(std::string_view token) const {
  const auto found = ids_.find(absl::string_view(token.data(), token.size()));
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

const std::string* TokenTable::Text(int64_t id) const {
  const auto found = texts_.find(id);
  return found == texts_.end() ? nullptr : &found->second;
}

std::optional<std::vector<int64_t>> TokenTable::Bytes(std::string_view text) const {
  std::vector<int64_t> ids;
  for (const char c : text) {
    char name[8];
    std::snprintf(name, sizeof(name), "<0x%02X>", static_cast<uint8_t>(c));
    const std::optional<int64_t> id = Find(name);
    if (!id.has_value()) return std::nullopt;
    ids.push_back(*id);
  }
  return ids;
}

}  // namespace onward::tokenizer
