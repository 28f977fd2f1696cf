#include "training/data/record_tokens.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "files/chat_template/messages.h"
#include "onward/status.h"
#include "training/data/sources.h"

namespace onward::training {
namespace {

constexpr int64_t kIgnored = -100;  // the label that losses pass over
// Fixed lengths make tensors of this size for every example.
constexpr int64_t kMostFixed = int64_t{1} << 24;

absl::Status Check(const TokensField& config) {
  const auto error = [](const auto&... parts) {
    return absl::InvalidArgumentError(absl::StrCat("tokens: ", parts...));
  };
  if (config.column_size() > 2)
    return error("at most two columns form an example, got ", config.column_size());
  if (config.column().empty()) return error("needs a column: the text's");
  if (config.has_max_length() && config.max_length() < 1)
    return error("max_length must be positive, got ", config.max_length());
  if (config.pad_to_max_length() && !config.has_max_length())
    return error("pad_to_max_length needs max_length");
  if (config.pad_to_max_length() && config.max_length() > kMostFixed)
    return error("max_length ", config.max_length(), " is too much to pad to");
  if (config.chat() && (config.next().empty() || config.column_size() > 1))
    return error("chat is of one column, with `next`");
  if (config.ids().empty() && config.mask().empty() && config.types().empty() &&
      config.next().empty())
    return error("no field is wanted");
  return absl::OkStatus();
}

absl::StatusOr<files::ChatTemplate> ReadTemplate(const std::string& tokenizer) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path directory =
      fs::is_directory(tokenizer, error) ? fs::path(tokenizer) : fs::path(tokenizer).parent_path();
  auto read = files::ChatTemplate::Read(directory.string());
  if (!read.ok()) return Annotate(read.status(), "tokens: chat:");
  return read;
}

std::string TextOf(const files::Tokenizer& tokenizer, std::optional<int64_t> token) {
  return token.has_value() ? tokenizer.TokenOf(*token).value_or("") : "";
}

}  // namespace

absl::StatusOr<RecordTokens> RecordTokens::Make(const TokensField& config,
                                                const std::string& directory) {
  ONWARD_RETURN_IF_ERROR(Check(config));
  ONWARD_ASSIGN_OR_RETURN(files::Tokenizer tokenizer,
                          files::Tokenizer::Read(PathBelow(directory, config.tokenizer())));
  if (!config.next().empty())
    ONWARD_RETURN_IF_ERROR(
        Annotate(tokenizer.EncodeCompletion("", "", !config.chat()).status(), "tokens: next:"));
  RecordTokens made(std::move(tokenizer));
  made.columns_.assign(config.column().begin(), config.column().end());
  made.most_ = config.has_max_length() ? static_cast<size_t>(config.max_length())
                                       : std::numeric_limits<size_t>::max();
  made.tools_ = config.tools();
  made.special_ = config.special();
  made.fixed_ = config.pad_to_max_length();
  made.pad_ = made.tokenizer_.pad().value_or(made.tokenizer_.eos().value_or(0));
  made.AddFields(config);
  if (config.chat()) {
    ONWARD_ASSIGN_OR_RETURN(made.chat_, ReadTemplate(PathBelow(directory, config.tokenizer())));
  }
  return made;
}

void RecordTokens::AddFields(const TokensField& config) {
  const std::string& named = config.ids().empty() ? config.column(0) : config.ids();
  const Dim length =
      fixed_ ? Dim(static_cast<int64_t>(most_)) : SymbolDim(absl::StrCat(named, "_length"));
  const auto add = [&](const std::string& name, int64_t pad) {
    if (name.empty()) return false;
    Field field = {name, Type::Tensor(DType::kInt64, SymbolicDims{length})};
    if (!fixed_) field.pad = static_cast<double>(pad);
    fields_.push_back(std::move(field));
    return true;
  };
  ids_ = add(config.ids(), pad_);
  mask_ = add(config.mask(), 0);
  types_ = add(config.types(), 0);
  next_ = add(config.next(), kIgnored);
}

absl::Status RecordTokens::Append(const std::vector<std::string_view>& texts,
                                  std::vector<Tensor>& example) const {
  if (next_) {
    const bool pair = texts.size() > 1;
    ONWARD_ASSIGN_OR_RETURN(
        files::Tokenizer::Completion completion,
        tokenizer_.EncodeCompletion(pair ? texts[0] : "", pair ? texts[1] : texts[0],
                                    /*add_special=*/true));
    // A text without a prompt has all its tokens behind the first to predict.
    return AppendNext(std::move(completion.ids), pair ? completion.prompt_tokens : 0, example);
  }
  std::optional<std::string_view> second;
  if (texts.size() > 1) second = texts[1];
  ONWARD_ASSIGN_OR_RETURN(const files::Encoding encoding,
                          tokenizer_.EncodeUpTo(most_, texts[0], second, special_));
  return AddEncoding(encoding, example);
}

absl::Status RecordTokens::AppendChat(const nlohmann::ordered_json& messages,
                                      const nlohmann::ordered_json* tools,
                                      std::vector<Tensor>& example) const {
  if (!messages.is_array() || messages.empty())
    return absl::InvalidArgumentError("it is not an array of messages");
  nlohmann::ordered_json variables = {{"messages", files::WithParsedArguments(messages)},
                                      {"add_generation_prompt", false},
                                      {"bos_token", TextOf(tokenizer_, tokenizer_.bos())},
                                      {"eos_token", TextOf(tokenizer_, tokenizer_.eos())}};
  if (tools != nullptr && !tools->is_null()) {
    variables["tools"] = tools->is_string()
                             ? nlohmann::ordered_json::parse(tools->get<std::string>(), nullptr,
                                                             /*allow_exceptions=*/false)
                             : *tools;
    if (!variables["tools"].is_array())
      return absl::InvalidArgumentError(
          absl::StrCat("'", tools_, "' is not an array of tools, nor JSON of one in a string"));
    if (variables["tools"].empty()) variables.erase("tools");
  }
  ONWARD_ASSIGN_OR_RETURN(const std::string whole, chat_->Render(variables));
  variables["messages"].erase(messages.size() - 1);
  variables["add_generation_prompt"] = true;
  ONWARD_ASSIGN_OR_RETURN(const std::string prompt, chat_->Render(variables));
  if (whole.compare(0, prompt.size(), prompt) != 0)
    return absl::InvalidArgumentError(
        "the chat template does not begin the conversation with the prompt of its last message");
  // The template writes the tokens that begin and end a text itself.
  ONWARD_ASSIGN_OR_RETURN(
      files::Tokenizer::Completion completion,
      tokenizer_.EncodeCompletion(prompt, std::string_view(whole).substr(prompt.size()),
                                  /*add_special=*/false));
  return AppendNext(std::move(completion.ids), completion.prompt_tokens, example);
}

// Nothing follows the last token, which is predicted and never read: the ids lack it.
absl::Status RecordTokens::AppendNext(std::vector<int64_t> ids, size_t ignored,
                                      std::vector<Tensor>& example) const {
  if (ids.size() < 2) return absl::InvalidArgumentError("the text has no token to predict");
  std::vector<int64_t> next(ids.begin() + 1, ids.end());
  ids.pop_back();
  for (size_t i = 0; i + 1 < ignored; ++i) next[i] = kIgnored;
  ids.resize(std::min(ids.size(), most_));
  next.resize(ids.size());
  std::vector<int64_t> types(ids.size(), 0);
  ONWARD_RETURN_IF_ERROR(AddEncoding({std::move(ids), std::move(types)}, example));
  return Add(next, kIgnored, example);
}

absl::Status RecordTokens::AddEncoding(const files::Encoding& encoding,
                                       std::vector<Tensor>& example) const {
  if (ids_) ONWARD_RETURN_IF_ERROR(Add(encoding.ids, pad_, example));
  if (mask_) ONWARD_RETURN_IF_ERROR(Add(std::vector<int64_t>(encoding.ids.size(), 1), 0, example));
  if (types_) ONWARD_RETURN_IF_ERROR(Add(encoding.types, 0, example));
  return absl::OkStatus();
}

absl::Status RecordTokens::Add(const std::vector<int64_t>& values, int64_t pad,
                               std::vector<Tensor>& example) const {
  const size_t size = fixed_ ? most_ : values.size();
  ONWARD_ASSIGN_OR_RETURN(Tensor tensor,
                          Tensor::Create(DType::kInt64, Dims{static_cast<int64_t>(size)}));
  auto* to = tensor.mutable_data<int64_t>();
  std::copy(values.begin(), values.end(), to);
  std::fill(to + values.size(), to + size, pad);
  example.push_back(std::move(tensor));
  return absl::OkStatus();
}

}  // namespace onward::training
