#include "serving/protocol/json_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace onward::serving {

bool IsPlain(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c >= ' ' && c < '\x7f' && c != '"' && c != '\\'; });
}

void AppendQuoted(std::string_view text, std::string& json) {
  if (!IsPlain(text)) {
    json += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    return;
  }
  json.push_back('"');
  json += text;
  json.push_back('"');
}

}  // namespace onward::serving
