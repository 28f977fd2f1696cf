#include "files/safetensors_header.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "files/utf8.h"
#include "graph/base/checked.h"
#include "onward/status.h"

namespace onward::files {
namespace {

constexpr size_t kMaxRank = 64;
constexpr size_t kMaxName = 65536;
constexpr char kMetadata[] = "__metadata__";

struct Row {
  std::string_view name;
  DType dtype;
};

// In the order of the format's own list, which decides where tensors lie in a file.
constexpr Row kRows[] = {
    {"BOOL", DType::kBool},
    {"F4", DType::kFloat4E2M1},
    {"F6_E2M3", DType::kFloat6E2M3},
    {"F6_E3M2", DType::kFloat6E3M2},
    {"U8", DType::kUint8},
    {"I8", DType::kInt8},
    {"F8_E5M2", DType::kFloat8E5M2},
    {"F8_E4M3", DType::kFloat8E4M3FN},
    {"F8_E8M0", DType::kFloat8E8M0},
    {"F8_E4M3FNUZ", DType::kFloat8E4M3FNUZ},
    {"F8_E5M2FNUZ", DType::kFloat8E5M2FNUZ},
    {"I16", DType::kInt16},
    {"U16", DType::kUint16},
    {"F16", DType::kFloat16},
    {"BF16", DType::kBFloat16},
    {"I32", DType::kInt32},
    {"U32", DType::kUint32},
    {"F32", DType::kFloat32},
    {"C64", DType::kComplex64},
    {"F64", DType::kFloat64},
    {"I64", DType::kInt64},
    {"U64", DType::kUint64},
};

DType DTypeOf(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return row.dtype;
  }
  return DType::kUndefined;
}

// Events of the JSON parser: an object of objects, the inner ones with three known fields. Anything
// else stops the parser with `error`.
class Reader : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::string error;
  SafetensorsHeader header;

  bool null() override { return Unexpected("null"); }
  bool boolean(bool) override { return Unexpected("true or false"); }
  bool number_float(double, const std::string& text) override { return Unexpected(text); }
  bool number_integer(int64_t value) override { return Unexpected(absl::StrCat(value)); }
  bool binary(binary_t&) override { return Unexpected("binary data"); }

  bool number_unsigned(uint64_t value) override {
    if (state_ != State::kNumbers || value > INT64_MAX) return Unexpected(absl::StrCat(value));
    if (numbers_.size() == kMaxRank) return Fail(absl::StrCat("more than ", kMaxRank, " dims"));
    numbers_.push_back(static_cast<int64_t>(value));
    return true;
  }

  bool string(std::string& text) override {
    if (state_ == State::kMetadata) {
      header.metadata[key_] = text;
      return true;
    }
    if (state_ != State::kEntry || key_ != "dtype") return Unexpected("a string");
    entry_.dtype = DTypeOf(text);
    if (entry_.dtype == DType::kUndefined)
      return Fail(absl::StrCat("the format has no dtype '", PrintableUtf8(text), "'"));
    return true;
  }

  bool key(std::string& text) override {
    if (text.size() > kMaxName)
      return Fail(absl::StrCat("a name has more than ", kMaxName, " bytes"));
    std::set<std::string>& seen = state_ == State::kTop ? names_ : fields_;
    if (!seen.insert(text).second)
      return Fail(absl::StrCat("'", PrintableUtf8(text), "' appears twice"));
    if (state_ == State::kTop) name_ = text;
    if (state_ == State::kEntry && text != "dtype" && text != "shape" && text != "data_offsets")
      return Fail(absl::StrCat("unknown field '", PrintableUtf8(text), "'"));
    key_ = text;
    return true;
  }

  bool start_object(size_t) override {
    if (state_ == State::kStart) {
      state_ = State::kTop;
      return true;
    }
    if (state_ != State::kTop) return Unexpected("an object");
    fields_.clear();
    entry_ = {};
    entry_.name = name_;
    state_ = name_ == kMetadata ? State::kMetadata : State::kEntry;
    return true;
  }

  bool end_object() override {
    if (state_ == State::kTop) {
      state_ = State::kEnd;
      return true;
    }
    if (state_ == State::kEntry) {
      if (fields_.size() != 3) return Fail("needs dtype, shape and data_offsets");
      header.entries.push_back(std::move(entry_));
    }
    state_ = State::kTop;
    name_.clear();
    return true;
  }

  bool start_array(size_t) override {
    if (state_ != State::kEntry || key_ == "dtype") return Unexpected("a list");
    numbers_.clear();
    state_ = State::kNumbers;
    return true;
  }

  bool end_array() override {
    state_ = State::kEntry;
    if (key_ == "shape") {
      entry_.dims.assign(numbers_.begin(), numbers_.end());
      return true;
    }
    if (numbers_.size() != 2) return Fail("data_offsets must be two numbers");
    entry_.begin = numbers_[0];
    entry_.end = numbers_[1];
    return true;
  }

  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) override {
    if (error.empty()) error = absl::StrCat("the header is not JSON (byte ", position, ")");
    return false;
  }

 private:
  enum class State { kStart, kTop, kMetadata, kEntry, kNumbers, kEnd };

  bool Fail(std::string why) {
    error = name_.empty() ? why : absl::StrCat("'", PrintableUtf8(name_), "': ", why);
    return false;
  }
  bool Unexpected(std::string_view what) {
    const std::string where = key_.empty() ? "" : absl::StrCat(" for '", PrintableUtf8(key_), "'");
    return Fail(absl::StrCat("unexpected ", std::string(what), where));
  }

  State state_ = State::kStart;
  std::set<std::string> names_, fields_;
  std::string name_, key_;
  SafetensorsEntry entry_;
  std::vector<int64_t> numbers_;
};

absl::Status CheckSize(const SafetensorsEntry& entry) {
  ONWARD_ASSIGN_OR_RETURN(const int64_t count, CheckedNumElements(entry.dims));
  const std::optional<int64_t> bits = CheckedMul(count, BitSize(entry.dtype));
  if (!bits) return absl::InvalidArgumentError("the number of bytes overflows");
  if (*bits % 8 != 0) return absl::InvalidArgumentError("the last element ends within a byte");
  if (entry.end < entry.begin || *bits / 8 != entry.end - entry.begin) {
    return absl::InvalidArgumentError(
        absl::StrCat("bytes ", entry.begin, " to ", entry.end, " do not fit ",
                     std::string(DTypeName(entry.dtype)), DimsString(entry.dims)));
  }
  return absl::OkStatus();
}

}  // namespace

std::string_view SafetensorsName(DType dtype) {
  const int order = SafetensorsOrder(dtype);
  return order < 0 ? "" : kRows[order].name;
}

int SafetensorsOrder(DType dtype) {
  for (size_t i = 0; i < std::size(kRows); ++i) {
    if (kRows[i].dtype == dtype) return static_cast<int>(i);
  }
  return -1;
}

absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(std::string_view json, int64_t size) {
  Reader reader;
  if (!nlohmann::json::sax_parse(json, &reader)) return absl::InvalidArgumentError(reader.error);
  std::vector<SafetensorsEntry>& entries = reader.header.entries;
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  int64_t end = 0;
  for (const SafetensorsEntry& entry : entries) {
    absl::Status status = CheckSize(entry);
    if (status.ok() && entry.begin != end) {
      status = absl::InvalidArgumentError(absl::StrCat(
          "begins at byte ", entry.begin, " where the tensor before it ends at ", end));
    }
    if (status.ok() && entry.end > size) {
      status = absl::InvalidArgumentError(
          absl::StrCat("ends at byte ", entry.end, " of ", size, ": the file is truncated"));
    }
    if (!status.ok()) return Annotate(status, absl::StrCat("'", PrintableUtf8(entry.name), "':"));
    end = entry.end;
  }
  if (end != size) {
    return absl::InvalidArgumentError(
        absl::StrCat(size - end, " bytes follow the last tensor's end"));
  }
  return std::move(reader.header);
}

}  // namespace onward::files
