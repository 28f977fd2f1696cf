#include "files/tokenizer/post_processor.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "files/utf8.h"
#include "onward/status.h"

namespace onward::tokenizer {
namespace {

// Templates that repeat the text would take more memory than the file and the text.
constexpr size_t kMostTemplates = 16;

// ["[CLS]", 101].
absl::StatusOr<int64_t> ReadId(const JsonField& field, const char* name) {
  ONWARD_ASSIGN_OR_RETURN(const std::vector<JsonField> parts, field.Items(name));
  if (parts.size() != 2)
    return absl::InvalidArgumentError(
        absl::StrCat(field.path(), ".", name, ": must be a token and its id"));
  return parts[1].Integer();
}

}  // namespace

absl::StatusOr<PostProcessor> PostProcessor::Read(const JsonField& field) {
  PostProcessor made;
  if (!field.is_null()) ONWARD_RETURN_IF_ERROR(made.Add(field));
  return made;
}

absl::Status PostProcessor::Add(const JsonField& field) {
  ONWARD_ASSIGN_OR_RETURN(const std::string type, field.String("type"));
  if (templates_.size() == kMostTemplates) return field.Error("too many processors");
  if (type == "TemplateProcessing") return AddTemplate(field);
  if (type == "BertProcessing" || type == "RobertaProcessing") return AddPair(field);
  if (type == "ByteLevel")  // it changes the places of tokens alone
    return field.Only({"type", "add_prefix_space", "trim_offsets", "use_regex"});
  if (type != "Sequence") {
    return absl::InvalidArgumentError(
        absl::StrCat(field.path(), ".type: '", files::PrintableUtf8(type), "' is not supported"));
  }
  ONWARD_RETURN_IF_ERROR(field.Only({"type", "processors"}));
  ONWARD_ASSIGN_OR_RETURN(const std::vector<JsonField> items, field.Items("processors"));
  for (const JsonField& item : items) ONWARD_RETURN_IF_ERROR(Add(item));
  return absl::OkStatus();
}

absl::Status PostProcessor::AddTemplate(const JsonField& field) {
  ONWARD_RETURN_IF_ERROR(field.Only({"type", "single", "pair", "special_tokens"}));
  ONWARD_ASSIGN_OR_RETURN(const std::vector<JsonField> items, field.Items("single"));
  Template made;
  int texts = 0;
  for (const JsonField& item : items) {
    ONWARD_RETURN_IF_ERROR(item.Only({"SpecialToken", "Sequence"}));
    if (item.Has("Sequence")) {
      ONWARD_ASSIGN_OR_RETURN(const JsonField sequence, item.At("Sequence"));
      ONWARD_ASSIGN_OR_RETURN(const std::string id, sequence.String("id"));
      if (id != "A" || ++texts > 1) return sequence.Error("only one 'A' is supported");
      made.push_back({true, {}});
      continue;
    }
    ONWARD_ASSIGN_OR_RETURN(const JsonField token, item.At("SpecialToken"));
    ONWARD_ASSIGN_OR_RETURN(const std::string name, token.String("id"));
    ONWARD_ASSIGN_OR_RETURN(const JsonField table, field.At("special_tokens"));
    if (!table.Has(name.c_str()))
      return token.Error(absl::StrCat("special_tokens has no '", files::PrintableUtf8(name), "'"));
    ONWARD_ASSIGN_OR_RETURN(const JsonField row, table.At(name.c_str()));
    ONWARD_ASSIGN_OR_RETURN(const std::vector<JsonField> ids, row.Items("ids"));
    Item special = {false, {}};
    for (const JsonField& id : ids) {
      ONWARD_ASSIGN_OR_RETURN(const int64_t number, id.Integer());
      special.ids.push_back(number);
    }
    made.push_back(std::move(special));
  }
  templates_.push_back(std::move(made));
  return absl::OkStatus();
}

absl::Status PostProcessor::AddPair(const JsonField& field) {
  ONWARD_RETURN_IF_ERROR(field.Only({"type", "sep", "cls", "trim_offsets", "add_prefix_space"}));
  ONWARD_ASSIGN_OR_RETURN(const int64_t begin, ReadId(field, "cls"));
  ONWARD_ASSIGN_OR_RETURN(const int64_t end, ReadId(field, "sep"));
  templates_.push_back({{false, {begin}}, {true, {}}, {false, {end}}});
  return absl::OkStatus();
}

std::vector<int64_t> PostProcessor::Apply(std::vector<int64_t> ids, bool add_special) const {
  for (const Template& each : templates_) {
    std::vector<int64_t> made;
    for (const Item& item : each) {
      const std::vector<int64_t>& from = item.text ? ids : item.ids;
      if (item.text || add_special) made.insert(made.end(), from.begin(), from.end());
    }
    ids = std::move(made);
  }
  return ids;
}

}  // namespace onward::tokenizer
