// The field traceparent, by which clients join their traces with the server's (W3C Trace Context).
#pragma once

#include <string>
#include <string_view>

namespace onward::serving {

// The trace's id, 32 hexadecimal digits; "": the field is not as the standard has it.
std::string TraceIdOf(std::string_view traceparent);

}  // namespace onward::serving
