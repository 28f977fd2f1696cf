// A piece is a token as it stands.
#include "files/tokenizer/model.h"
#include "onward/status.h"

namespace onward::tokenizer {
namespace {

class WordLevel : public Model {
 public:
  WordLevel(TokenTable tokens, std::optional<std::string> unknown)
      : Model(std::move(tokens)), unknown_(std::move(unknown)) {}

  absl::Status Encode(std::string_view piece, std::vector<int64_t>& ids) const override {
    std::optional<int64_t> id = tokens().Find(piece);
    if (!id.has_value()) {
      ONWARD_ASSIGN_OR_RETURN(id, Unknown(unknown_, piece));
    }
    ids.push_back(*id);
    return absl::OkStatus();
  }

 private:
  std::optional<std::string> unknown_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const Model>> ReadWordLevel(const JsonField& model) {
  ONWARD_RETURN_IF_ERROR(model.Only({"type", "vocab", "unk_token"}));
  ONWARD_ASSIGN_OR_RETURN(const JsonField vocabulary, model.At("vocab"));
  ONWARD_ASSIGN_OR_RETURN(TokenTable tokens, TokenTable::Read(vocabulary));
  ONWARD_ASSIGN_OR_RETURN(auto unknown, ReadUnknownToken(model));
  return std::make_shared<WordLevel>(std::move(tokens), std::move(unknown));
}

}  // namespace onward::tokenizer
