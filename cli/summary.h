// A value in one line: name, dtype, shape, range and first elements.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "graph/base/value.h"

namespace onward::cli {

struct ValueSummary {
  std::string text;
  nlohmann::json json;
};

ValueSummary Summarize(const std::string& name, const Value& value);

// {"key": value, ...}: numbers or strings.
nlohmann::json MapJson(const MapData& map);

}  // namespace onward::cli
