// Text that comes from models.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace onward::files {

// Well-formed by RFC 3629: no overlong forms, surrogates or code points above 10FFFF.
bool IsUtf8(std::string_view text);

// The front of `text`, which is not empty: a well-formed character, or the longest beginning
// of one that the bytes have; 1 byte where there is not even that.
struct Utf8Front {
  size_t bytes;
  bool complete;  // a well-formed character
  bool open;      // only the end of the text cuts it off
};
Utf8Front FrontOfUtf8(std::string_view text);

// Each maximal beginning of a character that is not one becomes U+FFFD, as browsers do.
std::string ReplaceMalformed(std::string_view text);

// For messages: control and malformed bytes as \xNN, cut after 200 bytes.
std::string PrintableUtf8(std::string_view text);

}  // namespace onward::files
