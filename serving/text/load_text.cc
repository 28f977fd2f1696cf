#include "serving/text/load_text.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "onward/generation/decoder_signature.h"
#include "onward/status.h"

namespace onward::serving {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr uintmax_t kMostBytes = uintmax_t{64} << 20;  // of a file of settings

std::optional<std::string> Read(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error) || fs::file_size(path, error) > kMostBytes)
    return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// Null where there is no such file. InvalidArgument: it is not an object of JSON.
absl::StatusOr<json> ReadObject(const fs::path& path) {
  const std::optional<std::string> text = Read(path);
  if (!text) return json(nullptr);
  json document = json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (document.is_object()) return document;
  return absl::InvalidArgumentError(absl::StrCat("'", path.string(), "' is not an object of JSON"));
}

const json* MemberOf(const json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

int64_t CountIn(const json& object, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const json* member = MemberOf(object, name);
    // Some tokenizers say 1e30 where nothing limits them.
    if (member != nullptr && member->is_number_integer() && member->get<int64_t>() > 0)
      return member->get<int64_t>();
  }
  return 0;
}

// A token as text, which may be an object with "content".
std::string TokenIn(const json& object, const char* name) {
  const json* member = MemberOf(object, name);
  if (member != nullptr && member->is_object()) member = MemberOf(*member, "content");
  return member != nullptr && member->is_string() ? member->get<std::string>() : "";
}

void AddIds(const json& object, const char* name, std::vector<int64_t>& ids) {
  const json* member = MemberOf(object, name);
  if (member == nullptr) return;
  const json all = member->is_array() ? *member : json::array({*member});
  for (const json& each : all)
    if (each.is_number_integer() && std::find(ids.begin(), ids.end(), each) == ids.end())
      ids.push_back(each.get<int64_t>());
}

// transformers' generation_config.json; what is out of range counts as absent.
void ReadSampling(const json& config, generation::SamplingOptions& sampling) {
  const auto number = [&](const char* name, double least, double most, double otherwise) {
    const json* member = MemberOf(config, name);
    if (member == nullptr || !member->is_number()) return otherwise;
    const double value = member->get<double>();
    return value > least && value <= most ? value : otherwise;
  };
  sampling.temperature = number("temperature", 0, 2, 1);
  sampling.top_p = number("top_p", 0, 1, 1);
  sampling.repetition_penalty = number("repetition_penalty", 0.99, 10, 1);
  sampling.top_k = CountIn(config, {"top_k"});
  // Without do_sample transformers ignores them, and has a top_k of 50 that nobody chose.
  const json* samples = MemberOf(config, "do_sample");
  if (samples == nullptr || *samples != true) sampling = {.greedy = false};
}

void ReadTemplate(const fs::path& directory, const TextLoadContext& context, TextFacts& facts) {
  absl::StatusOr<files::ChatTemplate> read = files::ChatTemplate::Read(directory.string());
  if (absl::IsNotFound(read.status())) return;
  facts.chat_template = std::move(read);
  if (facts.chat_template.ok()) return;
  facts.chat_template = Annotate(facts.chat_template.status(), "its chat template:");
  WriteLog(context.log, LogLevel::kWarning, "model",
           absl::StrCat("model '", context.name,
                        "' cannot chat: ", std::string(facts.chat_template.status().message())));
}

absl::StatusOr<TextFacts> ReadFacts(const fs::path& directory, const files::Tokenizer& tokenizer,
                                    const TextLoadContext& context) {
  ONWARD_ASSIGN_OR_RETURN(const json tokens, ReadObject(directory / "tokenizer_config.json"));
  ONWARD_ASSIGN_OR_RETURN(const json generation, ReadObject(directory / "generation_config.json"));
  ONWARD_ASSIGN_OR_RETURN(const json config, ReadObject(directory / "config.json"));
  ONWARD_ASSIGN_OR_RETURN(const json pooling, ReadObject(directory / "1_Pooling" / "config.json"));
  TextFacts facts;
  facts.context = CountIn(config, {"max_position_embeddings", "n_positions", "n_ctx"});
  const int64_t longest = CountIn(tokens, {"model_max_length"});
  if (facts.context == 0 || (longest > 0 && longest < facts.context)) facts.context = longest;
  AddIds(generation, "eos_token_id", facts.stop_tokens);
  AddIds(config, "eos_token_id", facts.stop_tokens);
  if (tokenizer.eos()) AddIds(json{{"eos", *tokenizer.eos()}}, "eos", facts.stop_tokens);
  ReadSampling(generation, facts.sampling);
  facts.bos_token = TokenIn(tokens, "bos_token");
  facts.eos_token = TokenIn(tokens, "eos_token");
  const json* first = MemberOf(pooling, "pooling_mode_cls_token");
  if (first != nullptr && *first == true) facts.pooling = Pooling::kFirst;
  ReadTemplate(directory, context, facts);
  return facts;
}

// Returns whether the model has a score for each of the tokenizer's tokens.
bool IsDecoder(const Session& session, const files::Tokenizer& tokenizer) {
  const auto signature = generation::FindSignature(session.inputs(), session.outputs());
  if (!signature.ok()) return false;
  return !signature->vocabulary || *signature->vocabulary + 1 >= tokenizer.size();
}

}  // namespace

absl::StatusOr<std::shared_ptr<TextModel>> LoadText(const Session& session,
                                                    const TextLoadContext& context) {
  fs::path directory = fs::path(context.file).parent_path();
  if (!files::Tokenizer::IsInDirectory(directory.string())) directory = context.directory;
  if (!files::Tokenizer::IsInDirectory(directory.string())) return nullptr;
  ONWARD_ASSIGN_OR_RETURN(files::Tokenizer tokenizer, files::Tokenizer::Read(directory.string()));
  ONWARD_ASSIGN_OR_RETURN(TextFacts facts, ReadFacts(directory, tokenizer, context));
  std::unique_ptr<generation::BatchGenerator> generator;
  if (context.load_generator != nullptr && IsDecoder(session, tokenizer)) {
    ONWARD_ASSIGN_OR_RETURN(generator, context.load_generator(context.file, facts.context));
  }
  return std::make_shared<TextModel>(std::move(tokenizer), std::move(facts), std::move(generator));
}

}  // namespace onward::serving
