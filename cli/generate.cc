// onward generate: text that follows a prompt.
#include "onward/generation/generate.h"

#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/command.h"
#include "cli/token_text.h"
#include "onward/import.h"
#include "onward/models.h"
#include "onward/status.h"

namespace onward::cli {
namespace {

using generation::Decoder;

struct GenerateFlags {
  std::string model, prompt_ids, prompt, vocabulary, stop_ids;
  int max_new_tokens = 20, top_k = 0, beams = 0, context = 0;
  double temperature = 0, top_p = 1, repetition_penalty = 1, length_penalty = 1;
  bool early_stopping = false;
};

absl::StatusOr<std::vector<int64_t>> Numbers(const std::string& text, const char* option) {
  std::vector<int64_t> numbers;
  for (const auto& piece : absl::StrSplit(text, ',', absl::SkipWhitespace())) {
    int64_t number = 0;
    if (!absl::SimpleAtoi(piece, &number)) {
      return absl::InvalidArgumentError(
          absl::StrCat(option, ": '", std::string(piece), "' is not a number"));
    }
    numbers.push_back(number);
  }
  return numbers;
}

// The context that the model states, unless the caller says it.
int64_t ContextOf(const Graph& graph, const GenerateFlags& options) {
  int64_t context = options.context;
  const auto said = graph.metadata.find(kContextKey);
  if (context == 0 && said != graph.metadata.end() &&
      (!absl::SimpleAtoi(said->second, &context) || context < 0))
    context = 0;
  return context;
}

absl::StatusOr<std::unique_ptr<Decoder>> Load(Model model, const GenerateFlags& options,
                                              const CommonOptions& common) {
  const int64_t context = ContextOf(model.graph, options);
  return Decoder::Create(std::move(model), common.session(), context);
}

void Print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

absl::StatusOr<std::vector<int64_t>> PromptOf(const GenerateFlags& options,
                                              const TokenText& writer) {
  if (!options.prompt_ids.empty()) return Numbers(options.prompt_ids, "--prompt-ids");
  if (!writer.has_text())
    return absl::InvalidArgumentError(
        "--prompt needs --vocab, a file of tokens, a tokenizer.json or 'bytes': the model brings "
        "no "
        "vocabulary; "
        "--prompt-ids takes numbers");
  return writer.Encode(options.prompt);
}

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

nlohmann::json TokensOf(const std::vector<int64_t>& tokens, const TokenText& writer) {
  nlohmann::json made = {{"ids", tokens}};
  if (!writer.has_text()) return made;
  if (const auto text = writer.Text(tokens); text.ok()) made["text"] = *text;
  return made;
}

absl::Status Search(Decoder& decoder, const std::vector<int64_t>& prompt,
                    const std::vector<int64_t>& stops, const GenerateFlags& options,
                    const TokenText& writer, nlohmann::json& document) {
  if (options.temperature != 0 || options.top_k != 0 || options.top_p != 1)
    return absl::InvalidArgumentError(
        "--beams searches for the most probable text: leave out --temperature, --top-k and "
        "--top-p");
  const generation::BeamOptions beams = {options.beams, options.length_penalty,
                                         options.early_stopping};
  ONWARD_ASSIGN_OR_RETURN(const auto found,
                          generation::BeamSearch(decoder, prompt, options.max_new_tokens, stops,
                                                 beams, options.repetition_penalty));
  document.update(TokensOf(found[0].tokens, writer));
  for (const generation::Hypothesis& each : found) {
    nlohmann::json made = TokensOf(each.tokens, writer);
    made["score"] = each.score;
    document["hypotheses"].push_back(std::move(made));
  }
  return absl::OkStatus();
}

absl::Status Sample(Decoder& decoder, const std::vector<int64_t>& prompt,
                    const std::vector<int64_t>& stops, const GenerateFlags& options,
                    const CommonOptions& common, TokenText& writer, nlohmann::json& document) {
  generation::GenerateOptions generate;
  generate.max_new_tokens = options.max_new_tokens;
  generate.stop_tokens = stops;
  generate.seed = common.seed.value_or(0);
  generate.sampling.greedy = options.temperature == 0 && options.top_k == 0 && options.top_p == 1;
  generate.sampling.temperature = options.temperature == 0 ? 1 : options.temperature;
  generate.sampling.top_k = options.top_k;
  generate.sampling.top_p = options.top_p;
  generate.sampling.repetition_penalty = options.repetition_penalty;
  absl::Status written;
  if (!common.json) {
    generate.on_token = [&](int64_t token) {
      const absl::StatusOr<std::string> text = writer.Next(token);
      written = text.status();
      if (text.ok()) Print(*text);
      return written.ok();
    };
  }
  const auto made = generation::Generate(decoder, prompt, generate);
  if (!common.json) Print(writer.Finish().value_or("") + "\n");
  if (!made.ok()) return made.status();
  ONWARD_RETURN_IF_ERROR(written);
  document.update(TokensOf(made->tokens, writer));
  document["finish"] = std::string(FinishName(made->finish));
  return absl::OkStatus();
}

absl::Status GenerateText(const GenerateFlags& options, const CommonOptions& common) {
  ONWARD_ASSIGN_OR_RETURN(Model model, ImportFile(options.model));
  // Numbers come back as numbers, unless a vocabulary is asked for.
  const bool text = !options.prompt.empty() || common.json;
  ONWARD_ASSIGN_OR_RETURN(
      TokenText writer, TokenText::Create(options.vocabulary, text ? model.metadata : Metadata()));
  ONWARD_ASSIGN_OR_RETURN(const std::vector<int64_t> prompt, PromptOf(options, writer));
  ONWARD_ASSIGN_OR_RETURN(std::vector<int64_t> stops, Numbers(options.stop_ids, "--stop-ids"));
  if (options.stop_ids.empty() && writer.end_token().has_value())
    stops.push_back(*writer.end_token());
  ONWARD_ASSIGN_OR_RETURN(const auto decoder, Load(std::move(model), options, common));
  if (options.beams < 0)
    return absl::InvalidArgumentError(
        absl::StrCat("--beams is ", options.beams, ", must be at least 1 (0: none)"));
  nlohmann::json document = {{"prompt_ids", prompt}};
  const double begin = Now();
  if (options.beams > 0) {
    ONWARD_RETURN_IF_ERROR(Search(*decoder, prompt, stops, options, writer, document));
  } else {
    ONWARD_RETURN_IF_ERROR(Sample(*decoder, prompt, stops, options, common, writer, document));
  }
  const double seconds = Now() - begin;
  document["seconds"] = seconds;
  document["tokens_per_s"] = static_cast<double>(document["ids"].size()) / seconds;
  if (common.json) {
    std::printf("%s\n",
                document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  } else if (options.beams > 0) {
    ONWARD_ASSIGN_OR_RETURN(const std::string text,
                            writer.Text(document["ids"].get<std::vector<int64_t>>()));
    std::printf("%s\n", text.c_str());
  }
  if (common.verbose)
    std::fprintf(stderr, "%zu tokens in %.3f s\n", document["ids"].size(), seconds);
  return absl::OkStatus();
}

}  // namespace

void AddGenerate(CommandLine& line, CommonOptions& common) {
  auto options = std::make_shared<GenerateFlags>();
  Command command = NewCommand(
      line, common, "generate", "Generates text with a decoder model",
      "onward generate gpt.onnx --prompt 'ROMEO:' --vocab vocabulary.txt --temperature 0.8");
  command.Option("model", options->model, "ONNX file", {.required = true});
  command.Option("--prompt", options->prompt,
                 "text to continue; needs --vocab, or a model that brings its vocabulary");
  command.Option("--prompt-ids", options->prompt_ids, "tokens to continue from, as 1,2,3",
                 {.excludes = "--prompt"});
  command.Option(
      "--vocab", options->vocabulary,
      "file of tokens, one a line or a JSON object, or a tokenizer.json or its directory; 'bytes': "
      "the 256 bytes; default: the model's own, where its file has one");
  command.Option("--max-new-tokens", options->max_new_tokens, "tokens to make at most",
                 {.positive = true});
  command.Option("--stop-ids", options->stop_ids,
                 "tokens that end the text, as 0,2; default: the tokenizer's eos_token");
  command.Option("--temperature", options->temperature,
                 "scores are divided by it before a token is drawn; 0: the best token");
  command.Option("--top-k", options->top_k, "draw only from the k best");
  command.Option("--top-p", options->top_p,
                 "draw only from the most probable that have this probability together");
  command.Option("--repetition-penalty", options->repetition_penalty,
                 "above 1: what was there already becomes less probable");
  command.Option("--beams", options->beams, "look for the most probable text with so many beams");
  command.Option("--length-penalty", options->length_penalty,
                 "of beams: scores are divided by the length to this power");
  command.Flag("--early-stopping", options->early_stopping,
               "of beams: end when there are as many finished texts as beams");
  command.Option("--context", options->context,
                 "tokens that the model can see at most, where it does not say so");
  command.Do([=, &common] { return GenerateText(*options, common); },
             [=]() -> std::string {
               return options->prompt_ids.empty() && options->prompt.empty()
                          ? "--prompt-ids or --prompt"
                          : "";
             });
}

}  // namespace onward::cli
