// Text that comes from models.
#pragma once

#include <string>
#include <string_view>

namespace onward {

// Well-formed by RFC 3629: no overlong forms, surrogates or code points above 10FFFF.
bool IsUtf8(std::string_view text);

// For messages: control and malformed bytes as \xNN, cut after 200 bytes.
std::string PrintableUtf8(std::string_view text);

}  // namespace onward
