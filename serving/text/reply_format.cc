#include "serving/text/reply_format.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace onward::serving {
namespace {

Json FinishOf(const WholeChoice& choice) {
  return choice.finish_reason.empty() ? Json(nullptr) : Json(choice.finish_reason);
}

Json Begun(const ReplyFacts& facts, const char* object) {
  return {{"id", facts.id},
          {"object", object},
          {"created", facts.created},
          {"model", facts.model},
          {"choices", Json::array()}};
}

Json UsageJson(const Usage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.completion_tokens},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens}};
}

// --- completions

Json CompletionScores(const WholeChoice& choice) {
  if (!choice.has_scores) return nullptr;
  Json scores = {{"tokens", Json::array()},
                 {"token_logprobs", Json::array()},
                 {"top_logprobs", Json::array()},
                 {"text_offset", Json::array()}};
  for (const ScoredToken& token : choice.tokens) {
    scores["tokens"].push_back(token.text);
    scores["token_logprobs"].push_back(token.has_score ? Json(token.log_probability)
                                                       : Json(nullptr));
    Json best = token.has_score ? Json::object() : Json(nullptr);
    // Two tokens may have one text; the likelier one stays.
    for (const auto& [text, log_probability] : token.best)
      if (!best.contains(text)) best[text] = log_probability;
    scores["top_logprobs"].push_back(std::move(best));
    scores["text_offset"].push_back(token.offset);
  }
  return scores;
}

Json CompletionChoice(int index, const WholeChoice& choice) {
  return {{"index", index},
          {"text", choice.text},
          {"logprobs", CompletionScores(choice)},
          {"finish_reason", FinishOf(choice)}};
}

Json WholeCompletion(const ReplyFacts& facts, const std::vector<WholeChoice>& choices,
                     const Usage& usage) {
  Json document = Begun(facts, "text_completion");
  for (size_t i = 0; i < choices.size(); ++i)
    document["choices"].push_back(CompletionChoice(static_cast<int>(i), choices[i]));
  document["usage"] = UsageJson(usage);
  return document;
}

Json CompletionPart(const ReplyFacts& facts, int index, const WholeChoice& part) {
  Json document = Begun(facts, "text_completion");
  document["choices"].push_back(CompletionChoice(index, part));
  return document;
}

Json CompletionUsage(const ReplyFacts& facts, const Usage& usage) {
  Json document = Begun(facts, "text_completion");
  document["usage"] = UsageJson(usage);
  return document;
}

// --- chat

Json ChatToken(const std::string& text, double log_probability) {
  Json bytes = Json::array();
  for (const char c : text) bytes.push_back(static_cast<uint8_t>(c));
  return {{"token", text}, {"logprob", log_probability}, {"bytes", std::move(bytes)}};
}

Json ChatScores(const WholeChoice& choice) {
  if (!choice.has_scores) return nullptr;
  Json content = Json::array();
  for (const ScoredToken& token : choice.tokens) {
    Json scored = ChatToken(token.text, token.log_probability);
    scored["top_logprobs"] = Json::array();
    for (const auto& [text, log_probability] : token.best)
      scored["top_logprobs"].push_back(ChatToken(text, log_probability));
    content.push_back(std::move(scored));
  }
  return {{"content", std::move(content)}, {"refusal", nullptr}};
}

// Calls of choice `choice`; `numbered`: with their places, as chunks have them.
Json CallsJson(const ReplyFacts& facts, size_t choice, const WholeChoice& part, bool numbered) {
  Json calls = Json::array();
  for (size_t i = 0; i < part.calls.size(); ++i) {
    const size_t number = part.calls_before + i;
    Json call = Json::object();
    if (numbered) call["index"] = number;
    call["id"] = absl::StrCat("call_", facts.id, "_", choice, "_", number);
    call["type"] = "function";
    call["function"] = {{"name", part.calls[i].name}, {"arguments", part.calls[i].arguments}};
    calls.push_back(std::move(call));
  }
  return calls;
}

Json WholeChat(const ReplyFacts& facts, const std::vector<WholeChoice>& choices,
               const Usage& usage) {
  Json document = Begun(facts, "chat.completion");
  for (size_t i = 0; i < choices.size(); ++i) {
    Json message = {{"role", "assistant"}, {"content", choices[i].text}, {"refusal", nullptr}};
    if (!choices[i].calls.empty()) {
      if (choices[i].text.empty()) message["content"] = nullptr;
      message["tool_calls"] = CallsJson(facts, i, choices[i], /*numbered=*/false);
    }
    document["choices"].push_back({{"index", i},
                                   {"message", std::move(message)},
                                   {"logprobs", ChatScores(choices[i])},
                                   {"finish_reason", FinishOf(choices[i])}});
  }
  document["usage"] = UsageJson(usage);
  return document;
}

Json ChatChunk(const ReplyFacts& facts, int index, Json delta, Json scores, Json finish) {
  Json document = Begun(facts, "chat.completion.chunk");
  document["choices"].push_back({{"index", index},
                                 {"delta", std::move(delta)},
                                 {"logprobs", std::move(scores)},
                                 {"finish_reason", std::move(finish)}});
  return document;
}

Json FirstChat(const ReplyFacts& facts, int index) {
  return ChatChunk(facts, index, {{"role", "assistant"}, {"content", ""}}, nullptr, nullptr);
}

Json ChatPart(const ReplyFacts& facts, int index, const WholeChoice& part) {
  Json delta = Json::object();
  if (!part.text.empty()) delta["content"] = part.text;
  if (!part.calls.empty())
    delta["tool_calls"] = CallsJson(facts, static_cast<size_t>(index), part, /*numbered=*/true);
  return ChatChunk(facts, index, std::move(delta), ChatScores(part), FinishOf(part));
}

Json ChatUsage(const ReplyFacts& facts, const Usage& usage) {
  Json document = Begun(facts, "chat.completion.chunk");
  document["usage"] = UsageJson(usage);
  return document;
}

// --- generate

Json GenerateJson(const ReplyFacts& facts, const WholeChoice& choice) {
  Json document = {{"id", facts.id},
                   {"model_name", facts.model},
                   {"model_version", facts.version},
                   {"text_output", choice.text}};
  if (!choice.has_scores) return document;
  Json& details = document["details"] = {{"finish_reason", nullptr}, {"logprobs", Json::array()}};
  if (!choice.finish_reason.empty())
    details["finish_reason"] = choice.finish_reason == "stop" ? "stop_sequence" : "length";
  for (const ScoredToken& token : choice.tokens)
    details["logprobs"].push_back(
        {{"id", token.id}, {"text", token.text}, {"logprob", token.log_probability}});
  return document;
}

Json WholeGenerate(const ReplyFacts& facts, const std::vector<WholeChoice>& choices, const Usage&) {
  return GenerateJson(facts, choices[0]);
}

Json GeneratePart(const ReplyFacts& facts, int, const WholeChoice& part) {
  return GenerateJson(facts, part);
}

}  // namespace

const ReplyFormat kCompletionFormat = {"cmpl-",         WholeCompletion, nullptr, CompletionPart,
                                       CompletionUsage, "[DONE]",        true};
const ReplyFormat kChatFormat = {"chatcmpl-", WholeChat, FirstChat, ChatPart,
                                 ChatUsage,   "[DONE]",  true};
const ReplyFormat kGenerateFormat = {"", WholeGenerate, nullptr, GeneratePart, nullptr, "", false};

}  // namespace onward::serving
