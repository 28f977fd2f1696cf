#include "serving/http/framing.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "onward/status.h"

namespace onward::serving {
namespace {

absl::Status Malformed(std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("malformed request: ", std::string(what)));
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = absl::ascii_tolower(static_cast<unsigned char>(c));
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

absl::StatusOr<std::string> Decoded(std::string_view segment) {
  std::string decoded;
  for (size_t i = 0; i < segment.size(); ++i) {
    char c = segment[i];
    if (c == '%') {
      const bool complete = i + 2 < segment.size();
      const int high = complete ? HexDigit(segment[i + 1]) : -1;
      const int low = complete ? HexDigit(segment[i + 2]) : -1;
      if (high < 0 || low < 0) return Malformed("'%' in the path without two hexadecimal digits");
      c = static_cast<char>(high * 16 + low);
      i += 2;
    }
    decoded.push_back(c);
  }
  if (!CanBeSegment(decoded))
    return Malformed("a name in the path is dots, or has '/', '\\' or a control character");
  return decoded;
}

// Returns where the next control character may be, in steps of a cache line: heads hold few.
size_t SkipPlain(std::string_view head, size_t from) {
  constexpr size_t kStep = 64;
  for (; from + kStep <= head.size(); from += kStep) {
    bool plain = true;
    for (size_t i = 0; i < kStep; ++i) {
      const auto byte = static_cast<unsigned char>(head[from + i]);
      plain &= byte >= ' ' && byte != 0x7f;
    }
    if (!plain) break;
  }
  return from;
}

}  // namespace

bool CanBeSegment(std::string_view name) {
  for (const char c : name)
    if (c == '/' || c == '\\' || absl::ascii_iscntrl(static_cast<unsigned char>(c))) return false;
  return name != "." && name != "..";
}

absl::Status CheckHead(std::string_view head) {
  for (size_t i = SkipPlain(head, 0); i < head.size(); ++i) {
    const char c = head[i];
    if (c == '\n') {
      if (i == 0 || head[i - 1] != '\r') return Malformed("a line ends without a carriage return");
      const bool folded = i + 1 < head.size() && (head[i + 1] == ' ' || head[i + 1] == '\t');
      if (folded) return Malformed("a field is folded over two lines");
      i = SkipPlain(head, i + 1) - 1;
    } else if (c == '\r') {
      if (i + 1 == head.size() || head[i + 1] != '\n')
        return Malformed("a carriage return inside a line");
    } else if (c != '\t' && absl::ascii_iscntrl(static_cast<unsigned char>(c))) {
      return Malformed("a control character");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckFields(const HttpFields& fields, int version) {
  int hosts = 0, codings = 0, lengths = 0;
  for (const auto& [name, value] : fields) {
    hosts += name == "host";
    lengths += name == "content-length";
    if (name != "transfer-encoding") continue;
    ++codings;
    if (!absl::EqualsIgnoreCase(value, "chunked"))
      return Malformed("Transfer-Encoding is not chunked, the one that is known here");
  }
  if (version >= 11 && hosts != 1) return Malformed("the field Host is not there exactly once");
  if (codings > 1 || lengths > 1 || codings + lengths > 1)
    return Malformed("more than one of Content-Length and Transfer-Encoding");
  if (codings > 0 && version < 11) return Malformed("Transfer-Encoding in HTTP/1.0");
  return absl::OkStatus();
}

std::string EncodedSegment(std::string_view name) {
  std::string segment;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = absl::ascii_isalnum(byte) || c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      segment.push_back(c);
    } else {
      constexpr char kDigits[] = "0123456789ABCDEF";
      segment += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return segment;
}

absl::StatusOr<std::vector<std::string>> SegmentsOf(std::string_view target) {
  if (target.empty() || target[0] != '/') return Malformed("the target is not a path");
  for (const char c : target) {
    if (!absl::ascii_isprint(static_cast<unsigned char>(c)) || c == '#' || c == ' ')
      return Malformed("the target has a character that has to be escaped");
  }
  std::string_view path = target.substr(1, target.find('?') - 1);
  if (!path.empty() && path.back() == '/') path.remove_suffix(1);
  std::vector<std::string> segments;
  if (path.empty()) return segments;
  while (true) {
    const size_t slash = path.find('/');
    ONWARD_ASSIGN_OR_RETURN(std::string decoded, Decoded(path.substr(0, slash)));
    segments.push_back(std::move(decoded));
    if (slash == std::string_view::npos) return segments;
    path.remove_prefix(slash + 1);
  }
}

}  // namespace onward::serving
