// Depth of JSON from strangers, before it is parsed: what copies or prints a document goes as deep
// into the stack.
#pragma once

#include <string_view>

namespace onward::files {

// The number of lists and objects that lie inside each other, those in strings aside. Of bytes that
// are not JSON it is not less than a parser meets before it finds that out.
int JsonDepth(std::string_view json);

}  // namespace onward::files
