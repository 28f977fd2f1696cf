#include "files/tokenizer/pre_tokenizer.h"

#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "files/tokenizer/byte_alphabet.h"
#include "files/tokenizer/characters.h"
#include "files/tokenizer/metaspace.h"
#include "files/tokenizer/pattern.h"
#include "files/utf8.h"
#include "onward/status.h"

namespace onward::tokenizer {
namespace {

using Made = absl::StatusOr<std::shared_ptr<const PreTokenizer>>;
using Pieces = std::vector<Piece>;

class Function : public PreTokenizer {
 public:
  using Body = std::function<absl::Status(Piece, size_t, Pieces&)>;
  explicit Function(Body body) : body_(std::move(body)) {}
  absl::Status Cut(Piece piece, size_t most, Pieces& pieces) const override {
    return body_(std::move(piece), most, pieces);
  }

 private:
  Body body_;
};

Made Make(Function::Body body) { return std::make_shared<Function>(std::move(body)); }

void Append(const Piece& piece, const std::vector<Part>& parts, Pieces& pieces) {
  for (const Part& part : parts) {
    pieces.push_back(
        {piece.text.substr(part.begin, part.end - part.begin), piece.first && part.begin == 0});
  }
}

Made ByCharacter(bool (*is)(uint32_t), Cut cut) {
  return Make([=](const Piece& piece, size_t, Pieces& pieces) {
    Append(piece, CutAt(PartsByCharacter(piece.text, is), cut), pieces);
    return absl::OkStatus();
  });
}

Made ByPattern(const Pattern& pattern, Cut cut, bool invert) {
  return Make([=](const Piece& piece, size_t, Pieces& pieces) -> absl::Status {
    ONWARD_ASSIGN_OR_RETURN(std::vector<Part> parts, pattern.Parts(piece.text));
    if (invert)
      for (Part& part : parts) part.match = !part.match;
    Append(piece, CutAt(std::move(parts), cut), pieces);
    return absl::OkStatus();
  });
}

Made ReadByteLevel(const JsonField& field) {
  // GPT-2's.
  static constexpr char kWords[] =
      R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
  ONWARD_RETURN_IF_ERROR(field.Only({"type", "add_prefix_space", "trim_offsets", "use_regex"}));
  ONWARD_ASSIGN_OR_RETURN(const bool prefix, field.Bool("add_prefix_space", true));
  ONWARD_ASSIGN_OR_RETURN(const bool use_regex, field.Bool("use_regex", true));
  ONWARD_ASSIGN_OR_RETURN(const Pattern words, Pattern::FromRegex(kWords));
  return Make([=](Piece piece, size_t, Pieces& pieces) -> absl::Status {
    if (prefix && piece.text[0] != ' ') piece.text.insert(size_t{0}, 1, ' ');
    const size_t begin = pieces.size();
    if (use_regex) {
      ONWARD_ASSIGN_OR_RETURN(std::vector<Part> parts, words.Parts(piece.text));
      Append(piece, CutAt(std::move(parts), Cut::kIsolated), pieces);
    } else {
      pieces.push_back(std::move(piece));
    }
    for (size_t i = begin; i < pieces.size(); ++i) pieces[i].text = ToByteAlphabet(pieces[i].text);
    return absl::OkStatus();
  });
}

Made ReadMetaspace(const JsonField& field) {
  ONWARD_ASSIGN_OR_RETURN(const Metaspace metaspace, Metaspace::Read(field));
  const Pattern spaces = Pattern::FromText(" ");
  const Pattern marks = Pattern::FromText(metaspace.replacement);
  return Make([=](Piece piece, size_t most, Pieces& pieces) -> absl::Status {
    ONWARD_ASSIGN_OR_RETURN(piece.text, spaces.Replace(piece.text, metaspace.replacement, most));
    const bool prepend = metaspace.prepend == Metaspace::Prepend::kAlways ||
                         (metaspace.prepend == Metaspace::Prepend::kFirst && piece.first);
    if (prepend && piece.text.rfind(metaspace.replacement, 0) != 0)
      piece.text.insert(0, metaspace.replacement);
    if (!metaspace.split) {
      pieces.push_back(std::move(piece));
      return absl::OkStatus();
    }
    ONWARD_ASSIGN_OR_RETURN(std::vector<Part> parts, marks.Parts(piece.text));
    Append(piece, CutAt(std::move(parts), Cut::kMergedWithNext), pieces);
    return absl::OkStatus();
  });
}

Made ReadBert(const JsonField& field) {
  ONWARD_RETURN_IF_ERROR(field.Only({"type"}));
  ONWARD_ASSIGN_OR_RETURN(const auto spaces, ByCharacter(IsWhitespace, Cut::kRemoved));
  ONWARD_ASSIGN_OR_RETURN(const auto marks, ByCharacter(IsPunctuation, Cut::kIsolated));
  return Make([=](Piece piece, size_t most, Pieces& pieces) -> absl::Status {
    Pieces words;
    ONWARD_RETURN_IF_ERROR(spaces->Cut(std::move(piece), most, words));
    for (Piece& word : words) ONWARD_RETURN_IF_ERROR(marks->Cut(std::move(word), most, pieces));
    return absl::OkStatus();
  });
}

Made ReadPunctuation(const JsonField& field) {
  ONWARD_RETURN_IF_ERROR(field.Only({"type", "behavior"}));
  if (!field.Has("behavior")) return ByCharacter(IsPunctuation, Cut::kIsolated);
  ONWARD_ASSIGN_OR_RETURN(const JsonField behavior, field.At("behavior"));
  ONWARD_ASSIGN_OR_RETURN(const Cut cut, ReadCut(behavior));
  return ByCharacter(IsPunctuation, cut);
}

Made ReadDigits(const JsonField& field) {
  ONWARD_RETURN_IF_ERROR(field.Only({"type", "individual_digits"}));
  ONWARD_ASSIGN_OR_RETURN(const bool individual, field.Bool("individual_digits", false));
  return ByCharacter(IsNumeric, individual ? Cut::kIsolated : Cut::kContiguous);
}

Made ReadSplit(const JsonField& field) {
  ONWARD_RETURN_IF_ERROR(field.Only({"type", "pattern", "behavior", "invert"}));
  ONWARD_ASSIGN_OR_RETURN(const JsonField pattern_field, field.At("pattern"));
  ONWARD_ASSIGN_OR_RETURN(const Pattern pattern, Pattern::Read(pattern_field));
  ONWARD_ASSIGN_OR_RETURN(const JsonField behavior, field.At("behavior"));
  ONWARD_ASSIGN_OR_RETURN(const Cut cut, ReadCut(behavior));
  ONWARD_ASSIGN_OR_RETURN(const bool invert, field.Bool("invert", false));
  return ByPattern(pattern, cut, invert);
}

Made ReadDelimiter(const JsonField& field) {
  ONWARD_RETURN_IF_ERROR(field.Only({"type", "delimiter"}));
  ONWARD_ASSIGN_OR_RETURN(std::string delimiter, field.String("delimiter"));
  return ByPattern(Pattern::FromText(std::move(delimiter)), Cut::kRemoved, false);
}

Made ReadSequence(const JsonField& field) {
  ONWARD_RETURN_IF_ERROR(field.Only({"type", "pretokenizers"}));
  ONWARD_ASSIGN_OR_RETURN(const std::vector<JsonField> items, field.Items("pretokenizers"));
  std::vector<std::shared_ptr<const PreTokenizer>> steps;
  for (const JsonField& item : items) {
    ONWARD_ASSIGN_OR_RETURN(auto step, ReadPreTokenizer(item));
    steps.push_back(std::move(step));
  }
  return Make([=](Piece piece, size_t most, Pieces& pieces) -> absl::Status {
    Pieces current = {std::move(piece)};
    for (const auto& step : steps) {
      Pieces next;
      for (Piece& each : current) ONWARD_RETURN_IF_ERROR(step->Cut(std::move(each), most, next));
      current = std::move(next);
      size_t bytes = 0;
      for (const Piece& each : current) bytes += each.text.size();
      ONWARD_RETURN_IF_ERROR(CheckGrowth(bytes, most));
    }
    std::move(current.begin(), current.end(), std::back_inserter(pieces));
    return absl::OkStatus();
  });
}

// Runs of word characters and runs of others, without whitespace.
Made ReadWhitespace(const JsonField& field) {
  ONWARD_RETURN_IF_ERROR(field.Only({"type"}));
  ONWARD_ASSIGN_OR_RETURN(const auto words, ByCharacter(IsWord, Cut::kContiguous));
  ONWARD_ASSIGN_OR_RETURN(const auto spaces, ByCharacter(IsWhitespace, Cut::kRemoved));
  return Make([=](Piece piece, size_t most, Pieces& pieces) -> absl::Status {
    Pieces runs;
    ONWARD_RETURN_IF_ERROR(spaces->Cut(std::move(piece), most, runs));
    for (Piece& run : runs) ONWARD_RETURN_IF_ERROR(words->Cut(std::move(run), most, pieces));
    return absl::OkStatus();
  });
}

}  // namespace

Made ReadPreTokenizer(const JsonField& field) {
  ONWARD_ASSIGN_OR_RETURN(const std::string type, field.String("type"));
  if (type == "Sequence") return ReadSequence(field);
  if (type == "ByteLevel") return ReadByteLevel(field);
  if (type == "Metaspace") return ReadMetaspace(field);
  if (type == "Whitespace") return ReadWhitespace(field);
  if (type == "BertPreTokenizer") return ReadBert(field);
  if (type == "Punctuation") return ReadPunctuation(field);
  if (type == "Digits") return ReadDigits(field);
  if (type == "Split") return ReadSplit(field);
  if (type == "CharDelimiterSplit") return ReadDelimiter(field);
  if (type == "WhitespaceSplit") {
    ONWARD_RETURN_IF_ERROR(field.Only({"type"}));
    return ByCharacter(IsWhitespace, Cut::kRemoved);
  }
  return absl::InvalidArgumentError(
      absl::StrCat(field.path(), ".type: '", files::PrintableUtf8(type), "' is not supported"));
}

}  // namespace onward::tokenizer
