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
  if (type == "TemplateProcessing") return AddTemplates(field);
  if (type == "BertProcessing" || type == "RobertaProcessing")
    return AddAround(field, type == "RobertaProcessing");
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

absl::Status PostProcessor::AddTemplates(const JsonField& field) {
  ONWARD_RETURN_IF_ERROR(field.Only({"type", "single", "pair", "special_tokens"}));
  Templates made;
  ONWARD_ASSIGN_OR_RETURN(made.text, ReadTemplate(field, "single", /*pair=*/false));
  if (field.Has("pair")) {
    ONWARD_ASSIGN_OR_RETURN(made.pair, ReadTemplate(field, "pair", /*pair=*/true));
  } else {
    made.pair = {{Item::Kind::kFirst, {}, 0}, {Item::Kind::kSecond, {}, 1}};
  }
  templates_.push_back(std::move(made));
  return absl::OkStatus();
}

absl::StatusOr<PostProcessor::Template> PostProcessor::ReadTemplate(const JsonField& field,
                                                                    const char* name, bool pair) {
  ONWARD_ASSIGN_OR_RETURN(const std::vector<JsonField> items, field.Items(name));
  Template made;
  int firsts = 0, seconds = 0;
  for (const JsonField& item : items) {
    ONWARD_RETURN_IF_ERROR(item.Only({"SpecialToken", "Sequence"}));
    const bool special = !item.Has("Sequence");
    ONWARD_ASSIGN_OR_RETURN(const JsonField part, item.At(special ? "SpecialToken" : "Sequence"));
    if (special) {
      ONWARD_ASSIGN_OR_RETURN(Item token, ReadSpecial(field, part));
      made.push_back(std::move(token));
    } else {
      ONWARD_ASSIGN_OR_RETURN(const std::string id, part.String("id"));
      if (!pair && id != "A") return part.Error("only one 'A' is supported");
      made.push_back({id == "A" ? Item::Kind::kFirst : Item::Kind::kSecond, {}, 0});
      ++(id == "A" ? firsts : seconds);
      if (firsts > 1) return part.Error("only one 'A' is supported");
      if (seconds > 1) return part.Error("only one 'B' is supported");
    }
    if (part.Has("type_id")) {
      ONWARD_ASSIGN_OR_RETURN(const JsonField type, part.At("type_id"));
      ONWARD_ASSIGN_OR_RETURN(made.back().type, type.Integer());
    }
  }
  return made;
}

absl::StatusOr<PostProcessor::Item> PostProcessor::ReadSpecial(const JsonField& field,
                                                               const JsonField& token) {
  ONWARD_ASSIGN_OR_RETURN(const std::string name, token.String("id"));
  ONWARD_ASSIGN_OR_RETURN(const JsonField table, field.At("special_tokens"));
  if (!table.Has(name.c_str()))
    return token.Error(absl::StrCat("special_tokens has no '", files::PrintableUtf8(name), "'"));
  ONWARD_ASSIGN_OR_RETURN(const JsonField row, table.At(name.c_str()));
  ONWARD_ASSIGN_OR_RETURN(const std::vector<JsonField> ids, row.Items("ids"));
  Item special = {Item::Kind::kSpecial, {}, 0};
  for (const JsonField& id : ids) {
    ONWARD_ASSIGN_OR_RETURN(const int64_t number, id.Integer());
    special.ids.push_back(number);
  }
  return special;
}

absl::Status PostProcessor::AddAround(const JsonField& field, bool roberta) {
  ONWARD_RETURN_IF_ERROR(field.Only({"type", "sep", "cls", "trim_offsets", "add_prefix_space"}));
  ONWARD_ASSIGN_OR_RETURN(const int64_t begin, ReadId(field, "cls"));
  ONWARD_ASSIGN_OR_RETURN(const int64_t end, ReadId(field, "sep"));
  using Kind = Item::Kind;
  const int64_t second = roberta ? 0 : 1;
  Templates made;
  made.text = {{Kind::kSpecial, {begin}, 0}, {Kind::kFirst, {}, 0}, {Kind::kSpecial, {end}, 0}};
  made.pair = made.text;
  if (roberta) made.pair.push_back({Kind::kSpecial, {end}, 0});
  made.pair.push_back({Kind::kSecond, {}, second});
  made.pair.push_back({Kind::kSpecial, {end}, second});
  templates_.push_back(std::move(made));
  return absl::OkStatus();
}

files::Encoding PostProcessor::Apply(std::vector<int64_t> ids, bool add_special) const {
  files::Encoding made;
  made.types.assign(ids.size(), 0);
  made.ids = std::move(ids);
  for (const Templates& each : templates_) {
    files::Encoding from;
    std::swap(from, made);
    for (const Item& item : each.text) {
      const bool special = item.kind == Item::Kind::kSpecial;
      if (special && !add_special) continue;
      const std::vector<int64_t>& added = special ? item.ids : from.ids;
      made.ids.insert(made.ids.end(), added.begin(), added.end());
      made.types.resize(made.ids.size(), item.type);
    }
  }
  return made;
}

absl::StatusOr<files::Encoding> PostProcessor::ApplyToPair(const std::vector<int64_t>& first,
                                                           const std::vector<int64_t>& second,
                                                           bool add_special) const {
  if (templates_.size() > 1)
    return absl::UnimplementedError("pairs of texts by several templates of a post_processor");
  static const Template joined = {{Item::Kind::kFirst, {}, 0}, {Item::Kind::kSecond, {}, 1}};
  files::Encoding made;
  for (const Item& item : templates_.empty() ? joined : templates_[0].pair) {
    if (item.kind == Item::Kind::kSpecial && !add_special) continue;
    const std::vector<int64_t>& added = item.kind == Item::Kind::kFirst    ? first
                                        : item.kind == Item::Kind::kSecond ? second
                                                                           : item.ids;
    made.ids.insert(made.ids.end(), added.begin(), added.end());
    made.types.resize(made.ids.size(), item.type);
  }
  return made;
}

size_t PostProcessor::Added(const Template& made) {
  size_t added = 0;
  for (const Item& item : made) added += item.ids.size();
  return added;
}

size_t PostProcessor::AddedToText() const {
  size_t added = 0;
  for (const Templates& each : templates_) added += Added(each.text);
  return added;
}

size_t PostProcessor::AddedToPair() const {
  return templates_.empty() ? 0 : Added(templates_[0].pair);
}

std::vector<int64_t> PostProcessor::BeforeText() const {
  std::vector<int64_t> before;
  for (const Templates& each : templates_) {
    std::vector<int64_t> own;
    for (const Item& item : each.text) {
      if (item.kind != Item::Kind::kSpecial) break;
      own.insert(own.end(), item.ids.begin(), item.ids.end());
    }
    before.insert(before.begin(), own.begin(), own.end());
  }
  return before;
}

bool PostProcessor::AddsBehindText() const { return BeforeText().size() < AddedToText(); }

}  // namespace onward::tokenizer
