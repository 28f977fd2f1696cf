#include "files/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "files/mapped_file.h"
#include "onward/status.h"

namespace onward::files {
namespace {

struct Inflater {
  z_stream stream{};
  bool open = false;
  ~Inflater() {
    if (open) inflateEnd(&stream);
  }
};

absl::Status Damaged(const std::string& path, std::string_view why) {
  return absl::DataLossError(absl::StrCat("'", path, "': ", std::string(why)));
}

// Members that follow each other are one file, as gzip has it.
absl::StatusOr<std::string> Inflate(std::string_view bytes, const std::string& path,
                                    int64_t max_bytes) {
  Inflater inflater;
  z_stream& stream = inflater.stream;
  constexpr int kGzip = 16 + MAX_WBITS;
  if (inflateInit2(&stream, kGzip) != Z_OK) return absl::ResourceExhaustedError("zlib");
  inflater.open = true;
  constexpr size_t kPiece = size_t{1} << 20;
  std::string out;
  size_t taken = 0, size = 0;
  while (true) {
    if (stream.avail_in == 0) {
      const size_t piece = std::min(kPiece, bytes.size() - taken);
      if (piece == 0) return Damaged(path, "the compressed data ends early");
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + taken));
      stream.avail_in = static_cast<uInt>(piece);
      taken += piece;
    }
    if (size == out.size()) out.resize(std::max(kPiece, 2 * size));
    const size_t room = std::min(out.size() - size, size_t{1} << 30);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + size);
    stream.avail_out = static_cast<uInt>(room);
    const int result = inflate(&stream, Z_NO_FLUSH);
    size += room - stream.avail_out;
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
      return Damaged(path, stream.msg == nullptr ? "damaged compressed data" : stream.msg);
    if (size > static_cast<size_t>(max_bytes))
      return Damaged(path, absl::StrCat("gives more than ", max_bytes, " bytes"));
    if (result != Z_STREAM_END) continue;
    if (stream.avail_in == 0 && taken == bytes.size()) break;
    inflateReset(&stream);
  }
  out.resize(size);
  out.shrink_to_fit();
  return out;
}

}  // namespace

absl::StatusOr<std::string> ReadMaybeGzip(const std::string& path, int64_t max_bytes) {
  ONWARD_ASSIGN_OR_RETURN(const std::shared_ptr<MappedFile> file, MappedFile::Open(path));
  const std::string_view bytes = file->bytes();
  if (bytes.substr(0, 2) == "\x1f\x8b") return Inflate(bytes, path, max_bytes);
  if (bytes.size() > static_cast<size_t>(max_bytes))
    return Damaged(path, absl::StrCat("has more than ", max_bytes, " bytes"));
  return std::string(bytes);
}

}  // namespace onward::files
