// A value in one line: name, dtype, shape, range and first elements.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "onward/value.h"

namespace onward::cli {

struct ValueSummary {
  std::string text;
  nlohmann::json json;
};

ValueSummary Summarize(const std::string& name, const Value& value);

// Names the best classes of a tensor of scores [classes] or [batch, classes] (further axes of size
// 1 too) in the summary, the first rows in the text and all in the JSON; other tensors stay as they
// are.
void AddClasses(const Value& value, const std::vector<std::string>& names, ValueSummary& summary);

// {"key": value, ...}: numbers or strings.
nlohmann::json MapJson(const MapData& map);

}  // namespace onward::cli
