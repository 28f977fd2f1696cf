#include "serving/text/text_task.h"

#include <random>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "files/utf8.h"
#include "onward/status.h"
#include "serving/text/chat_prompt.h"
#include "serving/text/task_members.h"

namespace onward::serving {
namespace {

constexpr int kMostDepth = 64;  // of the body
constexpr int kMostChoices = 128;
constexpr size_t kMostBiases = 1024;
constexpr int64_t kTextsWithoutContext = 1024;  // tokens of a chat whose model has no known context

uint64_t DrawnSeed() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

// Numbers of tokens, as strings, with what is added to their scores.
void ReadBias(TaskMembers& members, int64_t tokens, generation::SamplingOptions& sampling) {
  const Json* bias = members.Find("logit_bias");
  if (bias == nullptr) return;
  if (!bias->is_object()) return members.Fail("logit_bias", "expected an object");
  if (bias->size() > kMostBiases)
    return members.Fail("logit_bias", absl::StrCat("has more than ", kMostBiases, " tokens"));
  TaskMembers values(*bias, "logit_bias.");
  for (const auto& [name, value] : bias->items()) {
    int64_t token = -1;
    if (!absl::SimpleAtoi(name, &token) || token < 0 || token >= tokens)
      return members.Fail(absl::StrCat("logit_bias.", files::PrintableUtf8(name)),
                          absl::StrCat("expected the number of a token, from 0 to ", tokens - 1));
    if (const auto added = values.Number(name, -100, 100))
      sampling.bias.emplace_back(token, *added);
  }
  members.Fail(values.status());
}

// Reads the settings that sample the next token. A temperature of 0 is the most probable one.
void ReadSampling(TaskMembers& members, const TextModel& model, TextTask& task) {
  const TextFacts& facts = model.facts();
  generation::SamplingOptions& sampling = task.options.sampling;
  sampling = facts.sampling;
  const std::optional<double> temperature = members.Number("temperature", 0, 2);
  if (temperature) sampling.greedy = *temperature == 0;
  if (temperature && *temperature > 0) sampling.temperature = *temperature;
  sampling.top_p = members.Number("top_p", 0, 1).value_or(sampling.top_p);
  if (sampling.top_p == 0) members.Fail("top_p", "is 0, expected a number above 0 and at most 1");
  const std::optional<int64_t> top_k = members.Count("top_k", -1, INT32_MAX);
  if (top_k) sampling.top_k = std::max<int64_t>(*top_k, 0);  // -1 is all to vLLM's clients
  sampling.repetition_penalty =
      members.Number("repetition_penalty", 1, 10).value_or(sampling.repetition_penalty);
  const std::optional<int64_t> seed = members.Count("seed", INT64_MIN, INT64_MAX);
  task.options.seed = seed ? static_cast<uint64_t>(*seed) : DrawnSeed();
  sampling.presence_penalty = members.Number("presence_penalty", -2, 2).value_or(0);
  sampling.frequency_penalty = members.Number("frequency_penalty", -2, 2).value_or(0);
  ReadBias(members, model.tokenizer().size(), sampling);
}

void ReadStops(TaskMembers& members, const TextFacts& facts, TextTask& task) {
  task.stops = members.Texts("stop");
  for (const std::string& stop : task.stops)
    if (stop.empty()) members.Fail("stop", "has an empty string, which ends every text");
  if (task.stops.size() > 16) members.Fail("stop", "has more than 16 strings");
  if (!members.Flag("ignore_eos")) task.options.stop_tokens = facts.stop_tokens;
}

void ReadStream(TaskMembers& members, TextTask& task) {
  task.stream = members.Flag("stream");
  const Json* options = members.Find("stream_options");
  if (options == nullptr) return;
  if (!options->is_object()) return members.Fail("stream_options", "expected an object");
  TaskMembers inner(*options, "stream_options.");
  task.include_usage = inner.Flag("include_usage");
  inner.Ignore({"include_obfuscation", "continuous_usage_stats"});
  if (const absl::Status status = inner.Finish(); !status.ok())
    members.Fail("stream_options", std::string(status.message()));
}

void ReadFormat(TaskMembers& members, const TextModel& model, TextTask& task) {
  const Json* format = members.Find("response_format");
  if (format == nullptr) return;
  auto grammar = model.formats().Find(*format);
  if (grammar.ok()) {
    task.grammar = *std::move(grammar);
    return;
  }
  members.Fail(grammar.status());
}

// A text of calls has no content, which response_format is about.
void ForceCalls(TaskMembers& members, const generation::SchemaSequence& calls,
                const TextModel& model, TextTask& task) {
  auto grammar = model.formats().FindCalls(calls);
  if (!grammar.ok()) return members.Fail(grammar.status());
  task.grammar = *std::move(grammar);
}

// One prompt of tokens, as [1, 2] or within [[1, 2], [3]].
std::optional<std::vector<int64_t>> TokensOf(const Json& value) {
  if (!value.is_array() || value.empty()) return std::nullopt;
  std::vector<int64_t> tokens;
  for (const Json& each : value) {
    if (!each.is_number_integer()) return std::nullopt;
    tokens.push_back(each.get<int64_t>());
  }
  return tokens;
}

void AddPrompt(TaskMembers& members, const Json& value, const TextModel& model, TextTask& task) {
  if (auto tokens = TokensOf(value)) {
    task.prompt_texts.push_back(
        model.tokenizer().Decode(*tokens, /*skip_special=*/false).value_or(""));
    task.prompts.push_back(*std::move(tokens));
    return;
  }
  if (!value.is_string()) {
    return members.Fail("prompt",
                        "expected a string, an array of tokens, or an array of one of these");
  }
  task.prompt_texts.push_back(value.get<std::string>());
  auto tokens = model.tokenizer().Encode(task.prompt_texts.back(), /*add_special=*/true);
  if (!tokens.ok()) return members.Fail("prompt", std::string(tokens.status().message()));
  // Without a word before it, a text begins where texts end.
  if (tokens->empty() && model.tokenizer().bos()) tokens->push_back(*model.tokenizer().bos());
  if (tokens->empty()) return members.Fail("prompt", "has no token");
  task.prompts.push_back(*std::move(tokens));
}

void ReadPrompts(TaskMembers& members, const TextModel& model, TextTask& task) {
  const Json* prompt = members.Find("prompt");
  if (prompt == nullptr) return members.Fail("prompt", "is missing");
  if (!prompt->is_array() || TokensOf(*prompt)) return AddPrompt(members, *prompt, model, task);
  if (prompt->empty() || prompt->size() > kMostChoices)
    return members.Fail("prompt", absl::StrCat("expected 1 to ", kMostChoices, " prompts"));
  for (const Json& each : *prompt) AddPrompt(members, each, model, task);
}

// Reads the largest length of a text: what was asked for, or all that the context leaves.
void ReadLength(TaskMembers& members, const std::vector<std::string>& names, const TextModel& model,
                int64_t otherwise, TextTask& task) {
  std::optional<int64_t> most;
  for (const std::string& name : names)
    if (const auto given = members.Count(name, 0, INT32_MAX)) most = given;
  task.options.max_new_tokens = most.value_or(otherwise);
  const int64_t context = model.facts().context;
  if (context == 0) return;
  for (const std::vector<int64_t>& prompt : task.prompts) {
    const int64_t left = context - static_cast<int64_t>(prompt.size());
    if (left >= most.value_or(1)) continue;
    members.Fail(names[0], absl::StrCat("the model takes ", context, " tokens; the prompt has ",
                                        prompt.size(), " and ", most.value_or(1),
                                        " are asked for: shorten the prompt or lower ", names[0]));
  }
  if (most) return;
  for (const std::vector<int64_t>& prompt : task.prompts)
    task.options.max_new_tokens =
        std::min(task.options.max_new_tokens, context - static_cast<int64_t>(prompt.size()));
}

void ReadRest(TaskMembers& members, const TextModel& model, TextTask& task) {
  ReadSampling(members, model, task);
  ReadStops(members, model.facts(), task);
  ReadStream(members, task);
  ReadFormat(members, model, task);
  task.choices = static_cast<int>(members.Count("n", 1, kMostChoices).value_or(1));
  if (static_cast<size_t>(task.choices) * task.prompts.size() > kMostChoices)
    members.Fail("n", absl::StrCat("asks for more than ", kMostChoices, " texts"));
  members.Ignore({"model", "user", "metadata", "store", "service_tier", "safety_identifier",
                  "prompt_cache_key"});
}

absl::Status CheckGenerates(const TextModel& model) {
  if (model.generates()) return absl::OkStatus();
  return absl::FailedPreconditionError("model: it does not generate text; /v1/embeddings takes it");
}

}  // namespace

absl::StatusOr<Json> ReadBody(std::string_view body) {
  bool too_deep = false;
  const auto see = [&too_deep](int depth, Json::parse_event_t, const Json&) {
    too_deep = too_deep || depth > kMostDepth;
    return !too_deep;
  };
  Json document = Json::parse(body, see, /*allow_exceptions=*/false);
  if (too_deep)
    return absl::InvalidArgumentError(absl::StrCat("body: is nested deeper than ", kMostDepth));
  if (document.is_discarded()) return absl::InvalidArgumentError("body: is not JSON");
  if (!document.is_object()) return absl::InvalidArgumentError("body: expected an object of JSON");
  return document;
}

absl::StatusOr<TextTask> ReadCompletion(const Json& body, const TextModel& model) {
  ONWARD_RETURN_IF_ERROR(CheckGenerates(model));
  TextTask task;
  TaskMembers members(body);
  ReadPrompts(members, model, task);
  ONWARD_RETURN_IF_ERROR(members.status());
  ReadLength(members, {"max_tokens"}, model, 16, task);
  ReadRest(members, model, task);
  task.echo = members.Flag("echo");
  const std::optional<int64_t> top = members.Count("logprobs", 0, 20);
  task.log_probabilities = top.has_value();
  task.top = static_cast<int>(top.value_or(0));
  if (const auto best = members.Count("best_of", 1, kMostChoices); best && *best != task.choices)
    members.Fail("best_of", "is not supported: it must equal n");
  members.Refuse("suffix", "is not supported");
  ONWARD_RETURN_IF_ERROR(members.Finish());
  return task;
}

absl::StatusOr<TextTask> ReadChat(const Json& body, const TextModel& model) {
  ONWARD_RETURN_IF_ERROR(CheckGenerates(model));
  if (!model.facts().chat_template.ok())
    return absl::FailedPreconditionError(absl::StrCat(
        "model: it cannot chat: ", std::string(model.facts().chat_template.status().message()),
        "; /v1/completions takes it"));
  TextTask task;
  TaskMembers members(body);
  ChatPrompt prompt = ReadChatPrompt(members, model);
  task.prompts.push_back(std::move(prompt.tokens));
  task.prompt_texts.push_back(std::move(prompt.text));
  task.tools = prompt.tools.syntax;
  ONWARD_RETURN_IF_ERROR(members.status());
  const int64_t context = model.facts().context;
  ReadLength(members, {"max_tokens", "max_completion_tokens"}, model,
             context == 0 ? kTextsWithoutContext : context, task);
  ReadRest(members, model, task);
  if (prompt.tools.forced) ForceCalls(members, *prompt.tools.forced, model, task);
  task.log_probabilities = members.Flag("logprobs");
  task.top = static_cast<int>(members.Count("top_logprobs", 0, 20).value_or(0));
  if (task.top > 0 && !task.log_probabilities)
    members.Fail("top_logprobs", "needs logprobs to be true");
  ONWARD_RETURN_IF_ERROR(members.Finish());
  return task;
}

absl::StatusOr<TextTask> ReadGenerate(const Json& body, const TextModel& model) {
  ONWARD_RETURN_IF_ERROR(CheckGenerates(model));
  TextTask task;
  Json merged = body;  // parameters count as members beside the text
  if (const auto parameters = body.find("parameters"); parameters != body.end()) {
    if (!parameters->is_object())
      return absl::InvalidArgumentError("parameters: expected an object");
    for (const auto& [name, value] : parameters->items()) merged[name] = value;
  }
  TaskMembers members(merged);
  const Json* text = members.Find("text_input");
  if (text == nullptr || !text->is_string())
    return absl::InvalidArgumentError("text_input: expected a string");
  AddPrompt(members, *text, model, task);
  ONWARD_RETURN_IF_ERROR(members.status());
  ReadLength(members, {"max_tokens"}, model, 20, task);
  ReadRest(members, model, task);
  task.log_probabilities = members.Flag("details");
  members.Ignore({"id", "parameters"});
  ONWARD_RETURN_IF_ERROR(members.Finish());
  return task;
}

}  // namespace onward::serving
