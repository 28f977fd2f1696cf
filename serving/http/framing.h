// Checks where one request ends and the next begins (RFC 9112), as far as the parser behind them
// lets more pass than is safe: folded lines, a missing Host, transfer codings that nobody knows.
// A request that fails is answered and its connection closed: what follows it cannot be trusted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "serving/http/message.h"

namespace onward::serving {

// `head`: request line and fields, with the empty line that ends them. InvalidArgument: a folded
// line, a line that ends without a carriage return, a control character.
absl::Status CheckHead(std::string_view head);

// InvalidArgument: no Host or several (HTTP/1.1), a Transfer-Encoding that is not "chunked", or one
// beside a Content-Length. `version`: 10 or 11.
absl::Status CheckFields(const HttpFields& fields, int version);

// Returns whether a segment of a path may have this name: it has no '/', '\\' or control character
// and is neither "." nor "..".
bool CanBeSegment(std::string_view name);

// The name as a segment of a path, percent-encoded.
std::string EncodedSegment(std::string_view name);

// The segments of a target in origin form, percent-decoded, without the query. InvalidArgument:
// another form, a wrong escape, an escaped NUL, '/' or control character, "." and "..".
absl::StatusOr<std::vector<std::string>> SegmentsOf(std::string_view target);

}  // namespace onward::serving
