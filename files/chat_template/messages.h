// Messages of a conversation as chat templates expect them.
#pragma once

#include <nlohmann/json.hpp>

namespace onward::files {

// Returns the messages with the arguments of their calls of tools as objects. Clients and data sets
// write them as strings of JSON, as OpenAI does; templates write them themselves. Strings that are
// not objects of JSON stay as they are.
nlohmann::ordered_json WithParsedArguments(nlohmann::ordered_json messages);

}  // namespace onward::files
