// Text as JSON has it.
#pragma once

#include <string>
#include <string_view>

namespace onward::serving {

// Returns whether JSON has the text as it is: printable ASCII without quotes and backslashes.
bool IsPlain(std::string_view text);

// Appends the text, quoted and escaped, with replacements for bytes that are not UTF-8.
void AppendQuoted(std::string_view text, std::string& json);

}  // namespace onward::serving
