#include "files/npy.h"

#include <zip.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <regex>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "files/write_file.h"
#include "graph/base/checked.h"
#include "onward/memory_limit.h"
#include "onward/status.h"

namespace onward::files {
namespace {

constexpr char kMagic[] = "\x93NUMPY";
constexpr size_t kMagicBytes = 6;

struct Header {
  char kind = 0;      // 'f', 'i', 'u', 'b', 'c', 'U', 'S', 'V'
  int64_t width = 0;  // bytes per element ('U': characters)
  bool fortran = false;
  Dims dims;
  size_t data_offset = 0;
};

absl::Status Bad(std::string why) { return absl::InvalidArgumentError(std::move(why)); }

absl::Status ParseShape(const std::string& text, Dims* dims) {
  for (absl::string_view part : absl::StrSplit(text, ',', absl::SkipWhitespace())) {
    int64_t dim;
    if (!absl::SimpleAtoi(part, &dim) || dim < 0)
      return Bad(absl::StrCat("bad shape '(", text, ")'"));
    dims->push_back(dim);
  }
  return absl::OkStatus();
}

absl::StatusOr<Header> ParseHeader(std::string_view bytes) {
  if (bytes.size() < 10 || bytes.substr(0, kMagicBytes) != std::string_view(kMagic, kMagicBytes)) {
    return Bad("not a .npy file (no magic)");
  }
  const int major = static_cast<unsigned char>(bytes[6]);
  if (major < 1 || major > 3)
    return Bad(absl::StrCat("format version ", major, " is not supported"));
  const size_t length_bytes = major == 1 ? 2 : 4;
  if (bytes.size() < 8 + length_bytes) return Bad("truncated header");
  size_t length = 0;
  for (size_t i = 0; i < length_bytes; ++i)
    length |= static_cast<size_t>(static_cast<unsigned char>(bytes[8 + i])) << (8 * i);
  if (length > 65536 || length > bytes.size() - 8 - length_bytes) return Bad("truncated header");
  const std::string text(bytes.substr(8 + length_bytes, length));
  static const std::regex descr("'descr'\\s*:\\s*'([<>|=])([a-zA-Z])(\\d+)'");
  static const std::regex order("'fortran_order'\\s*:\\s*(True|False)");
  static const std::regex shape("'shape'\\s*:\\s*\\(([^)]*)\\)");
  std::smatch match;
  Header header;
  header.data_offset = 8 + length_bytes + length;
  if (!std::regex_search(text, match, descr))
    return Bad(absl::StrCat("unsupported element type in header ", text));
  header.kind = match[2].str()[0];
  if (!absl::SimpleAtoi(match[3].str(), &header.width) || header.width > 1 << 20)
    return Bad("bad element size");
  if (match[1].str() == ">" && header.width > 1) return Bad("big-endian arrays are not supported");
  if (!std::regex_search(text, match, order)) return Bad("no fortran_order in header");
  header.fortran = match[1].str() == "True";
  if (!std::regex_search(text, match, shape)) return Bad("no shape in header");
  ONWARD_RETURN_IF_ERROR(ParseShape(match[1].str(), &header.dims));
  return header;
}

DType DTypeOfHeader(const Header& header, DType expected) {
  struct Row {
    char kind;
    int64_t width;
    DType dtype;
  };
  static constexpr Row kRows[] = {
      {'f', 2, DType::kFloat16},   {'f', 4, DType::kFloat32},     {'f', 8, DType::kFloat64},
      {'i', 1, DType::kInt8},      {'i', 2, DType::kInt16},       {'i', 4, DType::kInt32},
      {'i', 8, DType::kInt64},     {'u', 1, DType::kUint8},       {'u', 2, DType::kUint16},
      {'u', 4, DType::kUint32},    {'u', 8, DType::kUint64},      {'b', 1, DType::kBool},
      {'c', 8, DType::kComplex64}, {'c', 16, DType::kComplex128},
  };
  if (header.kind == 'U' || header.kind == 'S') return DType::kString;
  for (const Row& row : kRows) {
    if (row.kind == header.kind && row.width == header.width) return row.dtype;
  }
  const bool raw_fits = header.kind == 'V' && expected != DType::kUndefined &&
                        expected != DType::kString &&
                        std::max(8, BitSize(expected)) == 8 * header.width;
  return raw_fits ? expected : DType::kUndefined;
}

void AppendUtf8(uint32_t c, std::string* out) {
  if (c < 0x80) {
    out->push_back(static_cast<char>(c));
  } else if (c < 0x800) {
    out->push_back(static_cast<char>(0xc0 | c >> 6));
    out->push_back(static_cast<char>(0x80 | (c & 0x3f)));
  } else if (c < 0x10000) {
    out->push_back(static_cast<char>(0xe0 | c >> 12));
    out->push_back(static_cast<char>(0x80 | (c >> 6 & 0x3f)));
    out->push_back(static_cast<char>(0x80 | (c & 0x3f)));
  } else {
    out->push_back(static_cast<char>(0xf0 | (c >> 18 & 7)));
    out->push_back(static_cast<char>(0x80 | (c >> 12 & 0x3f)));
    out->push_back(static_cast<char>(0x80 | (c >> 6 & 0x3f)));
    out->push_back(static_cast<char>(0x80 | (c & 0x3f)));
  }
}

std::string DecodeString(const Header& header, const char* data) {
  std::string text;
  if (header.kind == 'S') {
    text.assign(data, static_cast<size_t>(header.width));
    text.erase(std::find_if(text.rbegin(), text.rend(), [](char c) { return c != 0; }).base(),
               text.end());
    return text;
  }
  for (int64_t i = 0; i < header.width; ++i) {
    uint32_t c;
    std::memcpy(&c, data + 4 * i, 4);
    if (c == 0) break;
    AppendUtf8(c, &text);
  }
  return text;
}

// Elements in Fortran order to row-major.
Tensor FromFortran(const Tensor& columns) {
  const Dims reversed(columns.dims().rbegin(), columns.dims().rend());
  Tensor rows(columns.dtype(), columns.dims());
  const Dims strides = Strides(reversed);
  const auto width = static_cast<size_t>(BitSize(columns.dtype()) / 8);
  std::vector<int64_t> index(reversed.size(), 0);
  for (int64_t i = 0; i < columns.num_elements(); ++i) {
    int64_t from = 0;
    for (size_t axis = 0; axis < index.size(); ++axis)
      from += index[axis] * strides[index.size() - 1 - axis];
    std::memcpy(static_cast<char*>(rows.raw_mutable_data()) + static_cast<size_t>(i) * width,
                static_cast<const char*>(columns.raw_data()) + static_cast<size_t>(from) * width,
                width);
    for (size_t axis = index.size(); axis-- > 0;) {
      if (++index[axis] < columns.dims()[axis]) break;
      index[axis] = 0;
    }
  }
  return rows;
}

// A tensor of a packed type from one byte per element, as ml_dtypes stores it.
absl::StatusOr<Tensor> PackedFromBytes(std::string_view bytes, const Header& header, DType dtype) {
  ONWARD_ASSIGN_OR_RETURN(Tensor codes, Tensor::Create(DType::kInt8, header.dims));
  if (codes.num_elements() > 0)
    std::memcpy(codes.raw_mutable_data(), bytes.data() + header.data_offset,
                static_cast<size_t>(codes.byte_size()));
  if (header.fortran && codes.rank() > 1) codes = FromFortran(codes);
  ONWARD_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(dtype, header.dims));
  PackSubByte(dtype, codes.data<int8_t>(), codes.num_elements(), tensor.raw_mutable_data());
  return tensor;
}

absl::StatusOr<Tensor> ParseNpy(std::string_view bytes, DType expected) {
  ONWARD_ASSIGN_OR_RETURN(const Header header, ParseHeader(bytes));
  const DType dtype = DTypeOfHeader(header, expected);
  if (dtype == DType::kUndefined) {
    return Bad(absl::StrCat("element type '", std::string(1, header.kind), header.width,
                            "' is not supported"));
  }
  ONWARD_ASSIGN_OR_RETURN(const int64_t count, CheckedNumElements(header.dims));
  const int64_t width = header.kind == 'U' ? 4 * header.width : header.width;
  const std::optional<int64_t> needed = CheckedMul(count, width);
  const auto present = static_cast<int64_t>(bytes.size() - header.data_offset);
  if (!needed || *needed > present) {
    return Bad(absl::StrCat("truncated: shape ", DimsString(header.dims), " needs more than the ",
                            present, " bytes present"));
  }
  if (width == 0 && count > 1 << 20) return Bad("too many empty strings");
  if (IsSubByte(dtype)) return PackedFromBytes(bytes, header, dtype);
  ONWARD_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(dtype, header.dims));
  const char* data = bytes.data() + header.data_offset;
  if (dtype == DType::kString) {
    for (int64_t i = 0; i < count; ++i)
      tensor.mutable_data<std::string>()[i] = DecodeString(header, data + i * width);
    return tensor;
  }
  std::memcpy(tensor.raw_mutable_data(), data, static_cast<size_t>(*needed));
  return header.fortran && tensor.rank() > 1 ? FromFortran(tensor) : tensor;
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return absl::NotFoundError(absl::StrCat("cannot open '", path, "'"));
  std::string bytes(static_cast<size_t>(std::max<std::streamoff>(0, file.tellg())), '\0');
  file.seekg(0);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file) return absl::InvalidArgumentError(absl::StrCat("cannot read '", path, "'"));
  return bytes;
}

std::string DescrOf(DType dtype) {
  if (dtype == DType::kBool) return "|b1";
  if (dtype == DType::kComplex64) return "<c8";
  if (dtype == DType::kComplex128) return "<c16";
  const int bytes = std::max(1, BitSize(dtype) / 8);
  const bool is_unsigned = dtype == DType::kUint8 || dtype == DType::kUint16 ||
                           dtype == DType::kUint32 || dtype == DType::kUint64 ||
                           dtype == DType::kUint4 || dtype == DType::kUint2;
  if (IsInteger(dtype)) return absl::StrCat(bytes == 1 ? "|" : "<", is_unsigned ? "u" : "i", bytes);
  const bool numpy_has_it =
      dtype == DType::kFloat16 || dtype == DType::kFloat32 || dtype == DType::kFloat64;
  if (numpy_has_it) return absl::StrCat("<f", bytes);
  return absl::StrCat(bytes == 1 ? "|V" : "<V", bytes);
}

std::string MakeHeader(const std::string& descr, DimsView dims) {
  std::string text = absl::StrCat("{'descr': '", descr, "', 'fortran_order': False, 'shape': (",
                                  absl::StrJoin(dims, ", "), dims.size() == 1 ? ",), }" : "), }");
  while ((10 + text.size() + 1) % 64 != 0) text.push_back(' ');
  text.push_back('\n');
  std::string header(kMagic, kMagicBytes);
  header += {1, 0, static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return header + text;
}

// UTF-8 to code points; a byte that starts no valid sequence becomes U+FFFD.
std::vector<uint32_t> CodePoints(const std::string& text) {
  std::vector<uint32_t> points;
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t length = lead < 0x80       ? 1
                          : lead >> 5 == 6  ? 2
                          : lead >> 4 == 14 ? 3
                          : lead >> 3 == 30 ? 4
                                            : 0;
    if (length == 0 || i + length > text.size()) {
      points.push_back(0xfffd);
      ++i;
      continue;
    }
    uint32_t point = length == 1 ? lead : lead & (0xffu >> (length + 1));
    for (size_t j = 1; j < length; ++j)
      point = point << 6 | (static_cast<unsigned char>(text[i + j]) & 0x3f);
    points.push_back(point);
    i += length;
  }
  return points;
}

std::string StringsOf(const Tensor& tensor) {
  std::vector<std::vector<uint32_t>> rows;
  size_t width = 1;
  for (const std::string& text : tensor.span<std::string>()) {
    rows.push_back(CodePoints(text));
    width = std::max(width, rows.back().size());
  }
  std::string bytes = MakeHeader(absl::StrCat("<U", width), tensor.dims());
  for (std::vector<uint32_t>& row : rows) {
    row.resize(width, 0);
    bytes.append(reinterpret_cast<const char*>(row.data()), 4 * width);
  }
  return bytes;
}

struct ZipCloser {
  void operator()(zip_t* archive) const { zip_discard(archive); }
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};

// In pieces: memory grows with what is there, not with the size that the archive states.
absl::StatusOr<std::string> ReadEntry(zip_t* archive, const zip_stat_t& stat) {
  constexpr size_t kPiece = 1 << 20;
  ONWARD_RETURN_IF_ERROR(CheckMemory(static_cast<int64_t>(stat.size)));
  const std::unique_ptr<zip_file_t, ZipCloser> file(zip_fopen_index(archive, stat.index, 0));
  std::string bytes;
  bytes.reserve(std::min(stat.size, stat.comp_size));
  while (file != nullptr && bytes.size() < stat.size) {
    const size_t before = bytes.size(), wanted = std::min<size_t>(kPiece, stat.size - before);
    bytes.resize(before + wanted);
    const zip_int64_t read = zip_fread(file.get(), bytes.data() + before, wanted);
    bytes.resize(before + static_cast<size_t>(std::max<zip_int64_t>(0, read)));
    if (read <= 0) break;
  }
  if (file == nullptr || bytes.size() != stat.size)
    return Bad(absl::StrCat("cannot read entry '", stat.name, "'"));
  return bytes;
}

}  // namespace

absl::StatusOr<Tensor> ReadNpy(const std::string& path, DType expected) {
  ONWARD_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  absl::StatusOr<Tensor> tensor = ParseNpy(bytes, expected);
  if (!tensor.ok()) return Annotate(tensor.status(), absl::StrCat("'", path, "':"));
  return tensor;
}

absl::StatusOr<std::map<std::string, Tensor>> ReadNpz(const std::string& path) {
  int error = 0;
  const std::unique_ptr<zip_t, ZipCloser> archive(zip_open(path.c_str(), ZIP_RDONLY, &error));
  if (archive == nullptr) {
    zip_error_t reason;
    zip_error_init_with_code(&reason, error);
    const absl::Status status = absl::InvalidArgumentError(
        absl::StrCat("cannot open '", path, "' as a zip archive: ", zip_error_strerror(&reason)));
    zip_error_fini(&reason);
    return status;
  }
  std::error_code no_size;
  const uint64_t archive_bytes = std::filesystem::file_size(path, no_size);
  if (no_size) return Bad(absl::StrCat("cannot read '", path, "'"));
  std::map<std::string, Tensor> arrays;
  for (zip_int64_t i = 0; i < zip_get_num_entries(archive.get(), 0); ++i) {
    zip_stat_t stat;
    if (zip_stat_index(archive.get(), static_cast<zip_uint64_t>(i), 0, &stat) != 0)
      return Bad(absl::StrCat("'", path, "': damaged archive"));
    // The compressed size bounds what deflate can produce: about 1032 to 1.
    if (stat.comp_size > archive_bytes || stat.size > stat.comp_size * 1040 + 4096)
      return Bad(absl::StrCat("'", path, "': entry sizes contradict each other"));
    absl::StatusOr<std::string> bytes = ReadEntry(archive.get(), stat);
    if (!bytes.ok()) return Annotate(bytes.status(), absl::StrCat("'", path, "':"));
    std::string name(stat.name);
    if (name.size() > 4 && name.substr(name.size() - 4) == ".npy") name.resize(name.size() - 4);
    absl::StatusOr<Tensor> tensor = ParseNpy(*bytes, DType::kUndefined);
    if (!tensor.ok())
      return Annotate(tensor.status(), absl::StrCat("'", path, "', entry '", name, "':"));
    arrays[name] = *std::move(tensor);
  }
  return arrays;
}

absl::Status WriteNpy(const Tensor& tensor, const std::string& path) {
  if (tensor.dtype() == DType::kString) return WriteFile(path, StringsOf(tensor));
  ONWARD_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  ONWARD_RETURN_IF_ERROR(file.Append(MakeHeader(DescrOf(tensor.dtype()), tensor.dims())));
  if (IsSubByte(tensor.dtype())) {
    std::string unpacked(static_cast<size_t>(tensor.num_elements()), '\0');
    UnpackSubByte(tensor.dtype(), tensor.raw_data(), tensor.num_elements(),
                  reinterpret_cast<int8_t*>(unpacked.data()));
    ONWARD_RETURN_IF_ERROR(file.Append(unpacked));
  } else {
    ONWARD_RETURN_IF_ERROR(file.Append(
        {static_cast<const char*>(tensor.raw_data()), static_cast<size_t>(tensor.byte_size())}));
  }
  return file.Commit();
}

}  // namespace onward::files
