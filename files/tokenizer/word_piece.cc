// The longest token that a word begins with, then the longest continuation of it, as BERT does.
#include "files/tokenizer/characters.h"
#include "files/tokenizer/model.h"
#include "files/tokenizer/prefix_tree.h"
#include "onward/status.h"

namespace onward::tokenizer {
namespace {

class WordPiece : public Model {
 public:
  WordPiece(TokenTable tokens, std::optional<std::string> unknown, const std::string& prefix,
            int64_t most_characters)
      : Model(std::move(tokens)), unknown_(std::move(unknown)), most_characters_(most_characters) {
    for (const auto& [id, text] : this->tokens().texts()) tree_.Add(text, id);
    continuation_ = tree_.Find(prefix);
  }

  absl::Status Encode(std::string_view piece, std::vector<int64_t>& ids) const override {
    const size_t before = ids.size();
    if (CountCharacters(piece) <= most_characters_ && Cover(piece, ids)) return absl::OkStatus();
    ids.resize(before);
    ONWARD_ASSIGN_OR_RETURN(const int64_t unknown, Unknown(unknown_, piece));
    ids.push_back(unknown);
    return absl::OkStatus();
  }

 private:
  // False where no token fits.
  bool Cover(std::string_view piece, std::vector<int64_t>& ids) const {
    std::optional<PrefixTree::Node> from = PrefixTree::kRoot;
    while (!piece.empty()) {
      if (!from.has_value()) return false;
      const PrefixTree::Match match = tree_.Longest(piece, *from);
      if (match.bytes == 0) return false;
      ids.push_back(match.value);
      piece.remove_prefix(match.bytes);
      from = continuation_;
    }
    return true;
  }

  PrefixTree tree_;
  std::optional<std::string> unknown_;
  std::optional<PrefixTree::Node> continuation_;  // where tokens that continue a word begin
  int64_t most_characters_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const Model>> ReadWordPiece(const JsonField& model) {
  ONWARD_RETURN_IF_ERROR(model.Only(
      {"type", "vocab", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word"}));
  ONWARD_ASSIGN_OR_RETURN(const JsonField vocabulary, model.At("vocab"));
  ONWARD_ASSIGN_OR_RETURN(TokenTable tokens, TokenTable::Read(vocabulary));
  ONWARD_ASSIGN_OR_RETURN(auto unknown, ReadUnknownToken(model));
  ONWARD_ASSIGN_OR_RETURN(const std::string prefix,
                          model.String("continuing_subword_prefix", "##"));
  ONWARD_ASSIGN_OR_RETURN(const int64_t most, model.Integer("max_input_chars_per_word", 100));
  return std::make_shared<WordPiece>(std::move(tokens), std::move(unknown), prefix, most);
}

}  // namespace onward::tokenizer
