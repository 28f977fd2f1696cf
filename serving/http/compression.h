// Content codings of bodies (RFC 9110): gzip, and deflate, which is zlib's format.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "serving/http/message.h"

namespace onward::serving {

enum class Coding { kIdentity, kGzip, kDeflate };

inline constexpr char kCodings[] = "gzip, deflate";  // what requests may have

// The coding that the fields content-encoding name; nullopt: something that is not known here, or
// several codings.
std::optional<Coding> CodingOf(const HttpFields& fields);

// The coding of a reply: the one with the highest q in accept-encoding; among equals gzip, then
// deflate. Without such a field the reply stays as it is.
Coding AcceptedCoding(const HttpFields& fields);

// At no time takes much more memory than the smaller of the result and `most` bytes. OutOfRange: it
// would have more than `most`, or than 4 MiB and 200 times the bytes; InvalidArgument: damaged or
// truncated data, bytes behind its end.
absl::StatusOr<std::string> Decompress(Coding coding, std::string_view bytes, size_t most);

// `parts` as one body, compressed quickly rather than well.
absl::StatusOr<std::string> Compress(Coding coding, absl::Span<const std::string_view> parts);

}  // namespace onward::serving
