// Tokenizer (com.microsoft): words of texts, by regular expressions of what parts them or of what
// they are.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "kernels/cpu/kernel_list.h"
#include "re2/re2.h"

namespace onward::kernels::cpu {
namespace {

using Regexes = std::vector<std::unique_ptr<RE2>>;

constexpr char kStartOfText = 2;
constexpr char kEndOfText = 3;

// The bytes of the UTF-8 character that begins at text[at]; at most the rest of the text.
size_t CharacterBytes(std::string_view text, size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  const size_t bytes = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  return std::min(bytes, text.size() - at);
}

int64_t Characters(std::string_view text) {
  int64_t count = 0;
  for (size_t at = 0; at < text.size(); at += CharacterBytes(text, at)) ++count;
  return count;
}

class Tokenizer : public Kernel {
 public:
  // `separators` are the expressions of what parts tokens; with `tokens` the only one says what a
  // token is. None: each character is one.
  Tokenizer(Regexes expressions, bool tokens, bool mark, int64_t min_characters,
            std::string padding)
      : expressions_(std::move(expressions)),
        tokens_(tokens),
        mark_(mark),
        min_characters_(min_characters),
        padding_(std::move(padding)) {}

  absl::Status Bind(BindContext& context) const override {
    const DimsView dims = context.input_dims(0);
    if (dims.size() != 1 && dims.size() != 2)
      return absl::InvalidArgumentError(
          absl::StrCat("X has shape ", DimsString(dims), ", not [C] or [N,C]"));
    context.SetOutputAtRun(0);
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const TensorView& in = context.input(0);
    std::vector<std::vector<std::string_view>> rows;
    size_t most = 0;
    for (const std::string& text : in.span<std::string>()) {
      rows.push_back(Cut(text));
      most = std::max(most, rows.back().size());
    }
    // As in ONNX Runtime, nothing is marked where no text has a token.
    const bool mark = mark_ && most > 0;
    if (mark) most += 2;
    Dims dims(in.dims.begin(), in.dims.end());
    dims.push_back(static_cast<int64_t>(most));
    ONWARD_RETURN_IF_ERROR(CheckedByteSize(DType::kString, dims).status());
    ONWARD_ASSIGN_OR_RETURN(const TensorView out, context.AllocateOutput(0, DType::kString, dims));
    auto* to = out.as<std::string>();
    for (const std::vector<std::string_view>& row : rows) {
      std::string* const end = to + most;
      if (mark) (to++)->assign(1, kStartOfText);
      for (std::string_view token : row) (to++)->assign(token.data(), token.size());
      if (mark) (to++)->assign(1, kEndOfText);
      while (to != end) *to++ = padding_;
    }
    return absl::OkStatus();
  }

 private:
  std::vector<std::string_view> Cut(std::string_view text) const {
    std::vector<std::string_view> row;
    if (tokens_) {
      ForEachMatch(*expressions_[0], text, [&](size_t begin, size_t end) {
        if (LongEnough(text.substr(begin, end - begin)))
          row.push_back(text.substr(begin, end - begin));
      });
      return row;
    }
    if (expressions_.empty()) {
      for (size_t at = 0; at < text.size(); at += row.back().size())
        row.push_back(text.substr(at, CharacterBytes(text, at)));
      return row;
    }
    row = {text};
    for (const auto& separator : expressions_) {
      std::vector<std::string_view> pieces;
      for (std::string_view piece : row) CutAt(*separator, piece, pieces);
      row = std::move(pieces);
    }
    return row;
  }

  void CutAt(const RE2& separator, std::string_view text,
             std::vector<std::string_view>& pieces) const {
    size_t from = 0;
    ForEachMatch(separator, text, [&](size_t begin, size_t end) {
      if (begin > from && LongEnough(text.substr(from, begin - from)))
        pieces.push_back(text.substr(from, begin - from));
      // What matches nothing parts characters and takes one.
      from = end > begin || begin == text.size() ? end : begin + CharacterBytes(text, begin);
    });
    if (from < text.size() && LongEnough(text.substr(from))) pieces.push_back(text.substr(from));
  }

  // Calls match(begin, end) for each match from the left; an empty one is followed by a step of one
  // character.
  template <typename F>
  static void ForEachMatch(const RE2& expression, std::string_view text, F&& match) {
    const re2::StringPiece whole(text.data(), text.size());
    for (size_t from = 0; from < text.size();) {
      re2::StringPiece found;
      if (!expression.Match(whole, from, text.size(), RE2::UNANCHORED, &found, 1)) return;
      const auto begin = static_cast<size_t>(found.data() - text.data());
      match(begin, begin + found.size());
      if (begin == text.size()) return;
      from = begin + (found.empty() ? CharacterBytes(text, begin) : found.size());
    }
  }

  bool LongEnough(std::string_view token) const { return Characters(token) >= min_characters_; }

  Regexes expressions_;
  bool tokens_, mark_;
  int64_t min_characters_;
  std::string padding_;
};

absl::Status AddRegex(std::string_view name, const std::string& pattern, Regexes& regexes) {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_longest_match(true);
  regexes.push_back(std::make_unique<RE2>(pattern, options));
  if (regexes.back()->ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(std::string(name), " '", pattern, "': ", regexes.back()->error()));
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeTokenizer(const NodeSpec& spec) {
  const Attributes& attributes = spec.attributes();
  const int64_t min_characters = attributes.Int("mincharnum", 1);
  if (min_characters < 1)
    return absl::InvalidArgumentError(
        absl::StrCat("mincharnum is ", min_characters, ", not at least 1"));
  if (attributes.Has("stopwords"))
    return absl::UnimplementedError("stopwords: ONNX Runtime has no meaning for them");
  const std::vector<std::string> separators = attributes.Strings("separators");
  const std::string token = attributes.String("tokenexp");
  if (separators.empty() == token.empty())
    return absl::InvalidArgumentError("one of separators and tokenexp must be given, not both");
  Regexes expressions;
  if (!token.empty()) ONWARD_RETURN_IF_ERROR(AddRegex("tokenexp", token, expressions));
  const bool characters = separators.size() == 1 && separators[0].empty();
  for (const std::string& separator : separators) {
    if (characters) break;
    if (separator.empty()) return absl::InvalidArgumentError("an empty separator among others");
    ONWARD_RETURN_IF_ERROR(AddRegex("separator", separator, expressions));
  }
  return std::make_unique<Tokenizer>(std::move(expressions), !token.empty(),
                                     attributes.Int("mark", 0) != 0, min_characters,
                                     attributes.String("pad_value"));
}

constexpr KernelEntry kKernels[] = {
    {"com.microsoft", "Tokenizer", "tokenizer_reference", MakeTokenizer},
};

}  // namespace

KernelList ReferenceTokenizer() { return kKernels; }

}  // namespace onward::kernels::cpu
