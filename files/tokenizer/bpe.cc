#include "absl/strings/str_cat.h"
#include "files/tokenizer/bpe_merges.h"
#include "files/tokenizer/model.h"
#include "files/utf8.h"
#include "onward/status.h"

namespace onward::tokenizer {
namespace {

struct BpeOptions {
  std::optional<std::string> unknown;
  std::string prefix, suffix;  // of all but a word's first character; of its last one
  bool fuse_unknown = false, byte_fallback = false, ignore_merges = false;
};

class Bpe : public Model {
 public:
  Bpe(TokenTable tokens, BpeMerges merges, BpeOptions options)
      : Model(std::move(tokens)), merges_(std::move(merges)), options_(std::move(options)) {}

  absl::Status Encode(std::string_view piece, std::vector<int64_t>& ids) const override {
    if (options_.ignore_merges) {
      if (const std::optional<int64_t> id = tokens().Find(piece)) {
        ids.push_back(*id);
        return absl::OkStatus();
      }
    }
    const size_t begin = ids.size();
    ONWARD_RETURN_IF_ERROR(Characters(piece, ids));
    merges_.Apply(ids, begin);
    return absl::OkStatus();
  }

 private:
  // A token for each character. One for what is unknown comes only before the next known
  // character, behind the bytes that follow it, as in HF's library.
  absl::Status Characters(std::string_view piece, std::vector<int64_t>& ids) const {
    std::optional<int64_t> unknown;
    for (size_t at = 0; at < piece.size();) {
      const size_t bytes = files::FrontOfUtf8(piece.substr(at)).bytes;
      std::string symbol = at > 0 ? options_.prefix : "";
      symbol.append(piece.substr(at, bytes));
      at += bytes;
      if (at == piece.size()) symbol += options_.suffix;
      if (const std::optional<int64_t> id = tokens().Find(symbol)) {
        if (unknown.has_value()) ids.push_back(*unknown);
        unknown.reset();
        ids.push_back(*id);
        continue;
      }
      if (const auto pieces = options_.byte_fallback ? tokens().Bytes(symbol) : std::nullopt) {
        ids.insert(ids.end(), pieces->begin(), pieces->end());
        continue;
      }
      if (!options_.unknown.has_value()) continue;  // the library drops it
      if (unknown.has_value() && options_.fuse_unknown) continue;
      if (unknown.has_value()) ids.push_back(*unknown);
      ONWARD_ASSIGN_OR_RETURN(unknown, Unknown(options_.unknown, symbol));
    }
    if (unknown.has_value()) ids.push_back(*unknown);
    return absl::OkStatus();
  }

  BpeMerges merges_;
  BpeOptions options_;
};

absl::StatusOr<std::pair<std::string, std::string>> ReadPair(const JsonField& row) {
  if (row.value().is_string()) {
    const auto& text = row.value().get_ref<const std::string&>();
    const size_t space = text.find(' ');
    if (space == text.npos || text.find(' ', space + 1) != text.npos)
      return row.Error("must be two tokens and a space between them");
    return std::pair(text.substr(0, space), text.substr(space + 1));
  }
  ONWARD_ASSIGN_OR_RETURN(const std::vector<JsonField> parts, row.Items());
  if (parts.size() != 2) return row.Error("must be two tokens");
  ONWARD_ASSIGN_OR_RETURN(std::string left, parts[0].String());
  ONWARD_ASSIGN_OR_RETURN(std::string right, parts[1].String());
  return std::pair(std::move(left), std::move(right));
}

absl::StatusOr<BpeMerges> ReadMerges(const JsonField& model, const TokenTable& tokens,
                                     const std::string& prefix) {
  ONWARD_ASSIGN_OR_RETURN(const std::vector<JsonField> rows, model.Items("merges"));
  BpeMerges merges;
  for (size_t rank = 0; rank < rows.size(); ++rank) {
    ONWARD_ASSIGN_OR_RETURN(const auto pair, ReadPair(rows[rank]));
    const std::string& right = pair.second;
    if (right.size() < prefix.size())
      return rows[rank].Error("its second token is shorter than continuing_subword_prefix");
    const std::string made = pair.first + right.substr(prefix.size());
    const std::string* const names[] = {&pair.first, &right, &made};
    int64_t ids[3];
    for (int i = 0; i < 3; ++i) {
      const std::optional<int64_t> id = tokens.Find(*names[i]);
      if (!id.has_value())
        return rows[rank].Error(
            absl::StrCat("'", files::PrintableUtf8(*names[i]), "' is not in the vocabulary"));
      ids[i] = *id;
    }
    merges.Add(ids[0], ids[1], static_cast<uint32_t>(rank), ids[2]);
  }
  return merges;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Model>> ReadBpe(const JsonField& model) {
  ONWARD_RETURN_IF_ERROR(
      model.Only({"type", "vocab", "merges", "dropout", "unk_token", "continuing_subword_prefix",
                  "end_of_word_suffix", "fuse_unk", "byte_fallback", "ignore_merges"}));
  if (model.Has("dropout") && model.value()["dropout"] != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        model.path(), ".dropout: only null and 0 are supported: others draw at random"));
  }
  BpeOptions options;
  ONWARD_ASSIGN_OR_RETURN(options.unknown, ReadUnknownToken(model));
  ONWARD_ASSIGN_OR_RETURN(options.prefix, model.String("continuing_subword_prefix", ""));
  ONWARD_ASSIGN_OR_RETURN(options.suffix, model.String("end_of_word_suffix", ""));
  ONWARD_ASSIGN_OR_RETURN(options.fuse_unknown, model.Bool("fuse_unk", false));
  ONWARD_ASSIGN_OR_RETURN(options.byte_fallback, model.Bool("byte_fallback", false));
  ONWARD_ASSIGN_OR_RETURN(options.ignore_merges, model.Bool("ignore_merges", false));
  ONWARD_ASSIGN_OR_RETURN(const JsonField vocabulary, model.At("vocab"));
  ONWARD_ASSIGN_OR_RETURN(TokenTable tokens, TokenTable::Read(vocabulary));
  ONWARD_ASSIGN_OR_RETURN(BpeMerges merges, ReadMerges(model, tokens, options.prefix));
  return std::make_shared<Bpe>(std::move(tokens), std::move(merges), std::move(options));
}

}  // namespace onward::tokenizer
