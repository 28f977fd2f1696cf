#include "serving/http/compression.h"

#include <zlib.h>

#include <algorithm>
#include <deque>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "onward/status.h"

namespace onward::serving {
namespace {

constexpr unsigned kBlock = 256 * 1024;
constexpr size_t kMostAtOnce = size_t{1} << 30;  // zlib counts in 32 bits
// Bodies that are compressed by more are attacks rather than data, unless they are small.
constexpr size_t kMostRatio = 200, kSmall = size_t{4} << 20;

int WindowBits(Coding coding) { return coding == Coding::kGzip ? 16 + MAX_WBITS : MAX_WBITS; }

struct Inflater {
  z_stream stream{};
  bool open = false;
  ~Inflater() {
    if (open) inflateEnd(&stream);
  }
};

struct Deflater {
  z_stream stream{};
  bool open = false;
  ~Deflater() {
    if (open) deflateEnd(&stream);
  }
};

Bytef* BytesFor(const char* data) { return reinterpret_cast<Bytef*>(const_cast<char*>(data)); }

absl::Status Damaged(std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("the compressed body ", std::string(what)));
}

// Inflates into blocks, which are given back while their bytes become one string.
class Blocks {
 public:
  Blocks() : piece_(std::make_unique_for_overwrite<char[]>(kBlock)) {}

  // As much as a block holds. Z_OK: there may be more.
  int Inflate(z_stream& stream) {
    stream.next_out = BytesFor(piece_.get());
    stream.avail_out = kBlock;
    const int result = inflate(&stream, Z_NO_FLUSH);
    Append({piece_.get(), kBlock - stream.avail_out});
    return result;
  }
  size_t size() const { return size_; }

  std::string Joined() {
    if (blocks_.size() == 1) return std::move(blocks_.front());
    std::string whole;
    whole.reserve(size_);
    for (; !blocks_.empty(); blocks_.pop_front()) whole += blocks_.front();
    return whole;
  }

 private:
  void Append(std::string_view bytes) {
    if (bytes.empty()) return;
    size_ += bytes.size();
    if (blocks_.empty() || blocks_.back().size() + bytes.size() > kBlock) blocks_.emplace_back();
    blocks_.back() += bytes;
  }

  const std::unique_ptr<char[]> piece_;
  std::deque<std::string> blocks_;
  size_t size_ = 0;
};

// "gzip;q=0.5": the coding and its q, 1 where it is not there; below 0 where it is not a number.
std::pair<std::string, double> Preference(absl::string_view item) {
  const std::vector<std::string> parts = absl::StrSplit(item, ';');
  const std::string name =
      absl::AsciiStrToLower(absl::StripAsciiWhitespace(parts.empty() ? "" : parts[0]));
  double q = 1;
  for (size_t i = 1; i < parts.size(); ++i) {
    const std::string parameter =
        absl::AsciiStrToLower(absl::StripAsciiWhitespace(absl::string_view(parts[i])));
    if (parameter.substr(0, 2) != "q=") continue;
    if (!absl::SimpleAtod(parameter.substr(2), &q) || !(q >= 0 && q <= 1)) q = -1;
  }
  return {name, q};
}

std::optional<Coding> CodingNamed(std::string_view name) {
  if (name == "gzip" || name == "x-gzip") return Coding::kGzip;
  if (name == "deflate") return Coding::kDeflate;
  if (name == "identity") return Coding::kIdentity;
  return std::nullopt;
}

}  // namespace

std::optional<Coding> CodingOf(const HttpFields& fields) {
  Coding coding = Coding::kIdentity;
  for (const auto& [key, value] : fields) {
    if (key != "content-encoding" || value.empty()) continue;
    const std::optional<Coding> named = CodingNamed(absl::AsciiStrToLower(value));
    if (!named || coding != Coding::kIdentity) return std::nullopt;
    coding = *named;
  }
  return coding;
}

Coding AcceptedCoding(const HttpFields& fields) {
  std::optional<double> gzip, deflate, identity, others;
  for (const auto& [key, value] : fields) {
    if (key != "accept-encoding") continue;
    for (const absl::string_view item : absl::StrSplit(value, ',')) {
      const auto [name, q] = Preference(item);
      if (name == "*") others = q;
      const std::optional<Coding> coding = CodingNamed(name);
      if (coding == Coding::kGzip) gzip = q;
      if (coding == Coding::kDeflate) deflate = q;
      if (coding == Coding::kIdentity) identity = q;
    }
  }
  const double by_gzip = gzip.value_or(others.value_or(0));
  const double by_deflate = deflate.value_or(others.value_or(0));
  const double by_none = identity.value_or(0);
  if (by_gzip <= 0 && by_deflate <= 0) return Coding::kIdentity;
  if (by_none > std::max(by_gzip, by_deflate)) return Coding::kIdentity;
  return by_gzip >= by_deflate ? Coding::kGzip : Coding::kDeflate;
}

absl::StatusOr<std::string> Decompress(Coding coding, std::string_view bytes, size_t most) {
  if (coding == Coding::kIdentity) return std::string(bytes);
  Inflater inflater;
  z_stream& stream = inflater.stream;
  if (inflateInit2(&stream, WindowBits(coding)) != Z_OK)
    return absl::ResourceExhaustedError("there is not enough memory to decompress a body");
  inflater.open = true;
  const size_t most_by_ratio = std::max(kSmall, bytes.size() * kMostRatio);
  Blocks blocks;
  while (true) {
    const size_t piece = std::min(bytes.size(), kMostAtOnce);
    stream.next_in = BytesFor(bytes.data());
    stream.avail_in = static_cast<uInt>(piece);
    const int result = blocks.Inflate(stream);
    bytes.remove_prefix(piece - stream.avail_in);
    if (blocks.size() > most)
      return absl::OutOfRangeError(
          absl::StrCat("the body has more than ", most, " bytes once decompressed"));
    if (blocks.size() > most_by_ratio)
      return absl::OutOfRangeError(
          absl::StrCat("the body is compressed by more than ", kMostRatio, " to 1"));
    if (result == Z_MEM_ERROR)
      return absl::ResourceExhaustedError("there is not enough memory to decompress a body");
    if (result == Z_STREAM_END) {
      if (bytes.empty()) return blocks.Joined();
      if (coding != Coding::kGzip) return Damaged("has bytes after its end");
      inflateReset(&stream);  // members of gzip may follow each other
      continue;
    }
    if (result == Z_BUF_ERROR) return Damaged("ends early");
    if (result != Z_OK) return Damaged("is damaged");
  }
}

absl::StatusOr<std::string> Compress(Coding coding, absl::Span<const std::string_view> parts) {
  Deflater deflater;
  z_stream& stream = deflater.stream;
  constexpr int kMemory = 8;  // zlib's own choice
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, WindowBits(coding), kMemory,
                   Z_DEFAULT_STRATEGY) != Z_OK)
    return absl::ResourceExhaustedError("there is not enough memory to compress a reply");
  deflater.open = true;
  std::string out, block(kBlock, '\0');
  const auto feed = [&](std::string_view bytes, int flush) {
    stream.next_in = BytesFor(bytes.data());
    stream.avail_in = static_cast<uInt>(bytes.size());
    do {
      stream.next_out = BytesFor(block.data());
      stream.avail_out = static_cast<uInt>(block.size());
      deflate(&stream, flush);
      out.append(block, 0, block.size() - stream.avail_out);
    } while (stream.avail_out == 0);
  };
  for (std::string_view part : parts) {
    for (; !part.empty(); part.remove_prefix(std::min(part.size(), kMostAtOnce)))
      feed(part.substr(0, kMostAtOnce), Z_NO_FLUSH);
  }
  feed("", Z_FINISH);
  return out;
}

}  // namespace onward::serving
