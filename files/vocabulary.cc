#include "onward/vocabulary.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "files/mapped_file.h"
#include "files/utf8.h"
#include "files/write_file.h"
#include "onward/status.h"

namespace onward {
namespace {

constexpr size_t kMaxTokens = size_t{1} << 24;
constexpr size_t kMaxTokenBytes = 4096;

std::string Printable(std::string_view text) { return files::PrintableUtf8(text.substr(0, 40)); }

absl::StatusOr<std::vector<std::string>> ParseLines(std::string_view bytes) {
  if (!bytes.empty() && bytes.back() == '\n') bytes.remove_suffix(1);
  std::vector<std::string> tokens;
  for (size_t begin = 0, end = 0; end != bytes.npos; begin = end + 1) {
    end = bytes.find('\n', begin);
    std::string_view line = bytes.substr(begin, end == bytes.npos ? end : end - begin);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    std::string token, error;
    if (!absl::CUnescape({line.data(), line.size()}, &token, &error)) {
      return absl::InvalidArgumentError(absl::StrCat("line ", tokens.size() + 1, ": ", error));
    }
    tokens.push_back(std::move(token));
    if (tokens.size() > kMaxTokens) return absl::InvalidArgumentError("more than 2^24 tokens");
  }
  return tokens;
}

// {"token": number}, read event by event so that a token that comes twice is seen.
class Reader : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::string error;
  std::vector<std::string> tokens;

  bool null() override { return Unexpected(); }
  bool boolean(bool) override { return Unexpected(); }
  bool number_float(double, const std::string&) override { return Unexpected(); }
  bool number_integer(int64_t) override { return Unexpected(); }
  bool string(std::string&) override { return Unexpected(); }
  bool binary(binary_t&) override { return Unexpected(); }
  bool start_array(size_t) override { return Unexpected(); }
  bool end_array() override { return Unexpected(); }
  bool start_object(size_t) override { return ++depth_ == 1 || Unexpected(); }
  bool end_object() override { return true; }
  bool key(std::string& text) override {
    token_ = text;
    return true;
  }
  bool number_unsigned(uint64_t number) override {
    if (number >= kMaxTokens) return Unexpected();
    if (number >= tokens.size()) tokens.resize(number + 1);
    if (!tokens[number].empty()) {
      error = absl::StrCat("two tokens have the number ", number);
      return false;
    }
    tokens[number] = token_;
    return true;
  }
  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) override {
    if (error.empty()) error = absl::StrCat("not JSON (byte ", position, ")");
    return false;
  }

 private:
  bool Unexpected() {
    error = absl::StrCat("token '", Printable(token_), "' needs a number in [0, 2^24)");
    return false;
  }
  int depth_ = 0;
  std::string token_;
};

absl::StatusOr<std::vector<std::string>> ParseJson(std::string_view bytes) {
  Reader reader;
  if (!nlohmann::json::sax_parse(bytes, &reader)) return absl::InvalidArgumentError(reader.error);
  return std::move(reader.tokens);
}

std::string Escape(std::string_view token) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string line;
  const bool utf8 = files::IsUtf8(token);
  for (const char c : token) {
    const auto byte = static_cast<uint8_t>(c);
    if (c == '\n') {
      line += "\\n";
    } else if (c == '\r') {
      line += "\\r";
    } else if (c == '\t') {
      line += "\\t";
    } else if (c == '\\') {
      line += "\\\\";
    } else if (byte < 0x20 || byte == 0x7f || (byte >= 0x80 && !utf8)) {
      line += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      line += c;
    }
  }
  return line;
}

}  // namespace

absl::StatusOr<Vocabulary> Vocabulary::Make(std::vector<std::string> tokens) {
  Vocabulary made;
  made.tokens_ = std::move(tokens);
  for (size_t i = 0; i < made.tokens_.size(); ++i) {
    const std::string& token = made.tokens_[i];
    if (token.empty() || token.size() > kMaxTokenBytes) {
      return absl::InvalidArgumentError(absl::StrCat("token ", i, " has ", token.size(),
                                                     " bytes, must have 1 to ", kMaxTokenBytes));
    }
    uint32_t node = 0;
    for (const char c : token) {
      const auto [child, inserted] = made.children_.try_emplace(
          uint64_t{node} << 8 | static_cast<uint8_t>(c), made.token_at_.size());
      if (inserted) made.token_at_.push_back(-1);
      node = child->second;
    }
    int32_t& number = made.token_at_[node];
    if (number >= 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("tokens ", number, " and ", i, " are both '", Printable(token), "'"));
    }
    number = static_cast<int32_t>(i);
  }
  return made;
}

Vocabulary Vocabulary::Bytes() {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  return *Make(std::move(tokens));
}

absl::StatusOr<Vocabulary> Vocabulary::OfCharacters(std::string_view text) {
  if (!files::IsUtf8(text)) return absl::InvalidArgumentError("the text is not UTF-8");
  // Well-formed UTF-8 sorts by code points.
  std::set<std::string_view> characters;
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    while (end < text.size() && (static_cast<uint8_t>(text[end]) & 0xc0) == 0x80) ++end;
    characters.insert(text.substr(i, end - i));
    i = end;
  }
  return Make({characters.begin(), characters.end()});
}

absl::StatusOr<Vocabulary> Vocabulary::Parse(std::string_view bytes) {
  const bool json = bytes.substr(0, 1) == "{" && bytes.find('"') != bytes.npos;
  ONWARD_ASSIGN_OR_RETURN(std::vector<std::string> tokens,
                          json ? ParseJson(bytes) : ParseLines(bytes));
  return Make(std::move(tokens));
}

absl::StatusOr<Vocabulary> Vocabulary::Read(const std::string& path) {
  ONWARD_ASSIGN_OR_RETURN(const std::shared_ptr<files::MappedFile> file,
                          files::MappedFile::Open(path));
  absl::StatusOr<Vocabulary> made = Parse(file->bytes());
  if (!made.ok()) return Annotate(made.status(), absl::StrCat("'", path, "':"));
  return made;
}

absl::Status Vocabulary::Write(const std::string& path) const {
  ONWARD_ASSIGN_OR_RETURN(files::AtomicFile file, files::AtomicFile::Create(path));
  ONWARD_RETURN_IF_ERROR(file.Append(Text()));
  return file.Commit();
}

std::string Vocabulary::Text() const {
  std::string text;
  for (const std::string& token : tokens_) absl::StrAppend(&text, Escape(token), "\n");
  return text;
}

absl::StatusOr<std::vector<int64_t>> Vocabulary::Encode(std::string_view text) const {
  std::vector<int64_t> numbers;
  for (size_t begin = 0; begin < text.size();) {
    uint32_t node = 0;
    int32_t best = -1;
    size_t best_end = begin;
    for (size_t i = begin; i < text.size(); ++i) {
      const auto child = children_.find(uint64_t{node} << 8 | static_cast<uint8_t>(text[i]));
      if (child == children_.end()) break;
      node = child->second;
      if (token_at_[node] < 0) continue;
      best = token_at_[node];
      best_end = i + 1;
    }
    if (best < 0) {
      return absl::InvalidArgumentError(absl::StrCat("no token of the vocabulary fits byte ", begin,
                                                     ": '", Printable(text.substr(begin, 8)), "'"));
    }
    numbers.push_back(best);
    begin = best_end;
  }
  return numbers;
}

absl::StatusOr<std::string> Vocabulary::Decode(absl::Span<const int64_t> numbers) const {
  std::string text;
  for (const int64_t number : numbers) {
    if (number < 0 || number >= size()) {
      return absl::OutOfRangeError(absl::StrCat("token ", number, " of a vocabulary of ", size()));
    }
    text += token(number);
  }
  return text;
}

}  // namespace onward
