#include "files/tar.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "onward/status.h"

namespace onward::files {
namespace {

constexpr size_t kBlock = 512;
constexpr size_t kMaxName = 65536;

std::string_view Text(std::string_view field) { return field.substr(0, field.find('\0')); }

// Octal digits, or base 256 after a byte of 0x80.
std::optional<uint64_t> Number(std::string_view field) {
  uint64_t value = 0;
  if (static_cast<uint8_t>(field[0]) == 0x80) {
    for (const char c : field.substr(1)) {
      if (value >> 48 != 0) return std::nullopt;
      value = value << 8 | static_cast<uint8_t>(c);
    }
    return value;
  }
  field = Text(field);
  while (!field.empty() && field.front() == ' ') field.remove_prefix(1);
  while (!field.empty() && field.back() == ' ') field.remove_suffix(1);
  for (const char c : field) {
    if (c < '0' || c > '7' || value >> 48 != 0) return std::nullopt;
    value = value << 3 | static_cast<uint64_t>(c - '0');
  }
  return value;
}

// The sum of a header's bytes, its own field counted as spaces.
bool ChecksumFits(std::string_view header) {
  uint64_t sum = 0;
  for (size_t i = 0; i < kBlock; ++i)
    sum += i >= 148 && i < 156 ? uint64_t{' '} : static_cast<uint8_t>(header[i]);
  return Number(header.substr(148, 8)) == sum;
}
// The records "length key=value\n" of pax about the file that follows.
// What pax's records "length key=value\n" say of the file that follows.
struct Extended {
  std::optional<std::string> path;
  std::optional<uint64_t> size;
};

bool ParsePax(std::string_view records, Extended* next) {
  while (!records.empty()) {
    size_t length = 0;
    const auto [end, error] =
        std::from_chars(records.data(), records.data() + records.size(), length);
    const auto digits = static_cast<size_t>(end - records.data());
    if (error != std::errc() || length <= digits + 1 || length > records.size()) return false;
    const std::string_view record = records.substr(digits + 1, length - digits - 2);
    const size_t equals = record.find('=');
    if (equals == record.npos) return false;
    const std::string_view key = record.substr(0, equals), value = record.substr(equals + 1);
    if (key == "path") next->path = std::string(value);
    if (key == "size") {
      uint64_t size = 0;
      const auto parsed = std::from_chars(value.data(), value.data() + value.size(), size);
      if (parsed.ec != std::errc()) return false;
      next->size = size;
    }
    records.remove_prefix(length);
  }
  return true;
}

std::string PathOf(std::string_view header, const Extended& next) {
  std::string path = next.path.value_or("");
  if (!next.path) {
    const std::string_view prefix = Text(header.substr(345, 155));
    const bool has_prefix = header.substr(257, 6) == std::string_view("ustar\0", 6);
    if (has_prefix && !prefix.empty()) path = std::string(prefix) + "/";
    path += std::string(Text(header.substr(0, 100)));
  }
  return path.rfind("./", 0) == 0 ? path.substr(2) : path;
}

}  // namespace

absl::StatusOr<std::vector<TarEntry>> ListTar(std::string_view bytes) {
  std::vector<TarEntry> entries;
  Extended next;
  const auto damaged = [](size_t at, std::string_view why) {
    return absl::DataLossError(
        absl::StrCat("not a tar archive, or a damaged one: ", std::string(why), " at byte ", at));
  };
  for (size_t at = 0; at < bytes.size();) {
    if (bytes.size() - at < kBlock) return damaged(at, "the archive ends early");
    const std::string_view header = bytes.substr(at, kBlock);
    if (header.find_first_not_of('\0') == header.npos) break;
    if (!ChecksumFits(header)) return damaged(at, "wrong checksum");
    const std::optional<uint64_t> stated = next.size ? next.size : Number(header.substr(124, 12));
    const char kind = header[156];
    // Links and devices have no data, whatever size they state.
    const bool has_data =
        kind != '1' && kind != '2' && kind != '3' && kind != '4' && kind != '5' && kind != '6';
    const size_t begin = at + kBlock;
    if (!stated || (has_data && *stated > bytes.size() - begin))
      return damaged(at, "the archive ends early");
    const size_t size = has_data ? static_cast<size_t>(*stated) : 0;
    const std::string_view data = bytes.substr(begin, size);
    at = begin + std::min((size + kBlock - 1) / kBlock * kBlock, bytes.size() - begin);
    if (kind == 'L' && size <= kMaxName) {
      next.path = std::string(Text(data));
    } else if (kind == 'x') {
      if (!ParsePax(data, &next)) return damaged(begin, "a damaged extended header");
    } else if (kind != 'g' && kind != 'K') {
      if (kind == '0' || kind == '\0' || kind == '7')
        entries.push_back({PathOf(header, next), begin, size});
      next = {};
    }
  }
  return entries;
}

}  // namespace onward::files
