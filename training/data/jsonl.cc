// JSON lines. Where lines begin is found when the file is opened, what is in them when they are
// read.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "files/json_depth.h"
#include "files/mapped_file.h"
#include "graph/base/checked.h"
#include "onward/status.h"
#include "training/data/record_field.h"
#include "training/data/record_tokens.h"
#include "training/data/sources.h"

namespace onward::training {
namespace {

using nlohmann::json;

constexpr int kDeepest = 64;  // lists and objects inside each other

struct Member {
  RecordElements elements;
  std::string name;
  std::vector<int64_t> dims;  // -1: of the record
};

// `Json`: json, or ordered_json.
template <typename Json>
const Json* Find(const Json& object, std::string_view name) {
  if (!object.is_object()) return nullptr;
  const auto whole = object.find(std::string(name));
  if (whole != object.end()) return &*whole;
  const size_t dot = name.find('.');
  if (dot == name.npos) return nullptr;
  const auto outer = object.find(std::string(name.substr(0, dot)));
  return outer == object.end() ? nullptr : Find(*outer, name.substr(dot + 1));
}

// The dims of nested lists, by the first element of each.
absl::StatusOr<Dims> DimsOf(const json& value, const std::vector<int64_t>& expected) {
  Dims dims;
  const json* inner = &value;
  for (const int64_t dim : expected) {
    if (inner != nullptr && !inner->is_array())
      return absl::InvalidArgumentError(
          absl::StrCat("lists of depth ", expected.size(), " are needed"));
    const int64_t size = inner == nullptr ? 0 : static_cast<int64_t>(inner->size());
    if (dim >= 0 && size != dim)
      return absl::InvalidArgumentError(
          absl::StrCat("a list of ", size, " where ", dim, " are needed"));
    dims.push_back(size);
    inner = size == 0 ? nullptr : &inner->front();
  }
  return dims;
}

absl::Status Fill(const json& value, size_t axis, int64_t begin, const RecordElements& elements,
                  Tensor& tensor) {
  if (axis == tensor.dims().size()) return elements.FromJson(value, begin, tensor);
  if (!value.is_array() || static_cast<int64_t>(value.size()) != tensor.dims()[axis])
    return absl::InvalidArgumentError("the lists differ in length");
  const int64_t stride = NumElements(tensor.dims(), static_cast<int64_t>(axis) + 1, tensor.rank());
  for (size_t i = 0; i < value.size(); ++i) {
    ONWARD_RETURN_IF_ERROR(
        Fill(value[i], axis + 1, begin + static_cast<int64_t>(i) * stride, elements, tensor));
  }
  return absl::OkStatus();
}

// The texts of the members, which `record` keeps.
absl::StatusOr<std::vector<std::string_view>> TextsOf(const json& record,
                                                      const std::vector<std::string>& names) {
  std::vector<std::string_view> texts;
  for (const std::string& name : names) {
    const json* value = Find(record, name);
    if (value == nullptr || !value->is_string())
      return absl::InvalidArgumentError(absl::StrCat(
          "'", name, "': ", value == nullptr ? "there is no such member" : "it is not a text"));
    texts.push_back(value->get_ref<const std::string&>());
  }
  return texts;
}

class Jsonl : public Dataset {
 public:
  Jsonl(std::shared_ptr<files::MappedFile> file, std::string path)
      : file_(std::move(file)), path_(std::move(path)) {}

  absl::Status Open(const JsonlData& config, const std::string& directory) {
    for (const RecordField& field : config.field()) {
      if (field.column_size() > 1)
        return absl::InvalidArgumentError(
            absl::StrCat("data.jsonl: field '", field.name(), "' has more than one member"));
      Member member;
      ONWARD_ASSIGN_OR_RETURN(member.elements, RecordElements::Make(field));
      member.name = field.column().empty() ? field.name() : field.column(0);
      member.dims.assign(field.dim().begin(), field.dim().end());
      fields_.push_back({field.name(),
                         Type::Tensor(member.elements.dtype(), RecordDims(field)),
                         {field.class_().begin(), field.class_().end()}});
      members_.push_back(std::move(member));
    }
    for (const TokensField& field : config.tokens()) {
      ONWARD_ASSIGN_OR_RETURN(RecordTokens tokens, RecordTokens::Make(field, directory));
      fields_.insert(fields_.end(), tokens.fields().begin(), tokens.fields().end());
      tokens_.push_back(std::move(tokens));
    }
    const std::string_view bytes = file_->bytes();
    for (size_t begin = 0; begin < bytes.size();) {
      const size_t end = std::min(bytes.find('\n', begin), bytes.size());
      if (bytes.substr(begin, end - begin).find_first_not_of(" \t\r") != bytes.npos)
        lines_.push_back(begin);
      begin = end + 1;
    }
    return absl::OkStatus();
  }

  int64_t size() const override { return static_cast<int64_t>(lines_.size()); }
  const std::vector<Field>& fields() const override { return fields_; }

  absl::StatusOr<std::vector<Tensor>> Read(int64_t index, uint64_t) const override {
    return ReadFields(index, std::nullopt);
  }
  // Classes are read without the tokens of texts.
  absl::StatusOr<Tensor> ReadField(int64_t index, size_t field) const override {
    if (field >= members_.size()) return Dataset::ReadField(index, field);
    ONWARD_ASSIGN_OR_RETURN(std::vector<Tensor> one, ReadFields(index, field));
    return std::move(one[0]);
  }
  std::string Place(int64_t index, uint64_t) const override {
    return absl::StrCat("'", path_, "' line ",
                        LineOf(file_->bytes(), lines_[static_cast<size_t>(index)]));
  }

 private:
  // `only`: one of members_, in place of all fields.
  absl::StatusOr<std::vector<Tensor>> ReadFields(int64_t index, std::optional<size_t> only) const {
    const size_t begin = lines_[static_cast<size_t>(index)];
    const std::string_view bytes = file_->bytes();
    const size_t end = std::min(bytes.find('\n', begin), bytes.size());
    absl::StatusOr<std::vector<Tensor>> example = Parse(bytes.substr(begin, end - begin), only);
    if (example.ok()) return example;
    return absl::DataLossError(absl::StrCat(Place(index, 0), ": ", example.status().message()));
  }

  absl::StatusOr<std::vector<Tensor>> Parse(std::string_view line,
                                            std::optional<size_t> only) const {
    if (files::JsonDepth(line) > kDeepest)
      return absl::InvalidArgumentError(
          absl::StrCat("lists and objects lie inside each other more than ", kDeepest, " times"));
    const json record = json::parse(line, nullptr, false);
    if (record.is_discarded()) return absl::InvalidArgumentError("not JSON");
    if (!record.is_object()) return absl::InvalidArgumentError("not a JSON object");
    std::vector<Tensor> example;
    for (size_t f = 0; f < members_.size(); ++f) {
      if (only.has_value() && *only != f) continue;
      const Member& member = members_[f];
      const json* value = Find(record, member.name);
      absl::StatusOr<Tensor> tensor = value == nullptr
                                          ? absl::InvalidArgumentError("there is no such member")
                                          : Parse(*value, member, line.size());
      if (!tensor.ok()) return Annotate(tensor.status(), absl::StrCat("'", member.name, "':"));
      example.push_back(*std::move(tensor));
    }
    if (only.has_value()) return example;
    for (const RecordTokens& tokens : tokens_) {
      const std::string where = absl::StrCat("'", tokens.columns()[0], "':");
      if (tokens.is_chat()) {
        ONWARD_RETURN_IF_ERROR(Annotate(AppendChat(line, tokens, example), where));
        continue;
      }
      ONWARD_ASSIGN_OR_RETURN(const std::vector<std::string_view> texts,
                              TextsOf(record, tokens.columns()));
      ONWARD_RETURN_IF_ERROR(Annotate(tokens.Append(texts, example), where));
    }
    return example;
  }

  // Templates see the members of messages in the file's order.
  static absl::Status AppendChat(std::string_view line, const RecordTokens& tokens,
                                 std::vector<Tensor>& example) {
    const auto record = nlohmann::ordered_json::parse(line);
    const auto* messages = Find(record, tokens.columns()[0]);
    if (messages == nullptr) return absl::InvalidArgumentError("there is no such member");
    const auto* tools = tokens.tools().empty() ? nullptr : Find(record, tokens.tools());
    return tokens.AppendChat(*messages, tools, example);
  }

  // `bytes`: of the line, which has no more elements than that.
  static absl::StatusOr<Tensor> Parse(const json& value, const Member& member, size_t bytes) {
    ONWARD_ASSIGN_OR_RETURN(const Dims dims, DimsOf(value, member.dims));
    ONWARD_ASSIGN_OR_RETURN(const int64_t count, CheckedNumElements(dims));
    if (count > static_cast<int64_t>(bytes))
      return absl::InvalidArgumentError("the lists differ in length");
    ONWARD_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(member.elements.dtype(), dims));
    ONWARD_RETURN_IF_ERROR(Fill(value, 0, 0, member.elements, tensor));
    return tensor;
  }

  std::shared_ptr<files::MappedFile> file_;
  std::string path_;
  std::vector<Field> fields_;
  std::vector<Member> members_;
  std::vector<RecordTokens> tokens_;  // whose fields follow those of members_
  std::vector<size_t> lines_;         // where they begin
};

}  // namespace

OpenedDataset OpenJsonl(const JsonlData& config, const std::string& directory) {
  if (config.field().empty() && config.tokens().empty())
    return absl::InvalidArgumentError("data.jsonl: needs a field");
  const std::string path = PathBelow(directory, config.path());
  ONWARD_ASSIGN_OR_RETURN(std::shared_ptr<files::MappedFile> file, files::MappedFile::Open(path));
  auto jsonl = std::make_shared<Jsonl>(std::move(file), path);
  ONWARD_RETURN_IF_ERROR(jsonl->Open(config, directory));
  return jsonl;
}

}  // namespace onward::training
