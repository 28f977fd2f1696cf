// The report of a load of requests, as text and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "serving/client/load.h"

namespace onward::cli {

// Milliseconds at the quantiles that are named; an empty object of no latencies.
nlohmann::json QuantilesJson(std::vector<double> milliseconds);

nlohmann::json LoadJson(const serving::LoadReport& report);
// Lines, each with its end.
std::string LoadText(const serving::LoadReport& report);

}  // namespace onward::cli
