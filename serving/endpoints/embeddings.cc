// Vectors of texts, as OpenAI's clients ask for them.
#include <chrono>
#include <cstring>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "onward/status.h"
#include "serving/endpoints/endpoints.h"
#include "serving/protocol/error_reply.h"
#include "serving/text/embedding.h"
#include "serving/text/task_members.h"
#include "serving/text/text_task.h"

namespace onward::serving {
namespace {

using Texts = std::vector<std::vector<int64_t>>;

struct EmbeddingTask {
  Texts texts;
  bool base64 = false;
};

constexpr size_t kMostTexts = 2048;

void AddText(TaskMembers& members, const Json& value, const TextModel& model, Texts& texts) {
  std::vector<int64_t> tokens;
  if (value.is_string()) {
    auto encoded = model.tokenizer().Encode(value.get<std::string>(), /*add_special=*/true);
    if (!encoded.ok()) return members.Fail("input", std::string(encoded.status().message()));
    tokens = *std::move(encoded);
  } else if (value.is_array()) {
    for (const Json& each : value)
      tokens.push_back(each.is_number_integer() ? each.get<int64_t>() : -1);
  }
  if (tokens.empty()) return members.Fail("input", "expected texts that are not empty, or tokens");
  for (const int64_t token : tokens)
    if (token < 0 || token >= model.tokenizer().size())
      return members.Fail("input", "expected strings, or numbers of the model's tokens");
  const int64_t context = model.facts().context;
  if (context > 0 && static_cast<int64_t>(tokens.size()) > context)
    return members.Fail(
        "input", absl::StrCat("a text has ", tokens.size(), " tokens, the model takes ", context));
  texts.push_back(std::move(tokens));
}

absl::StatusOr<EmbeddingTask> ReadTask(const Json& body, const TextModel& model) {
  EmbeddingTask task;
  TaskMembers members(body);
  const Json* input = members.Find("input");
  if (input == nullptr) return absl::InvalidArgumentError("input: is missing");
  const bool is_one = !input->is_array() || (!input->empty() && (*input)[0].is_number());
  if (is_one) AddText(members, *input, model, task.texts);
  if (!is_one && (input->empty() || input->size() > kMostTexts))
    members.Fail("input", absl::StrCat("expected 1 to ", kMostTexts, " texts"));
  if (!is_one && members.status().ok())
    for (const Json& each : *input) AddText(members, each, model, task.texts);
  const std::string format = members.Text("encoding_format");
  task.base64 = format == "base64";
  if (!format.empty() && format != "base64" && format != "float")
    members.Fail("encoding_format", "expected float or base64");
  members.Refuse("dimensions", "cannot be chosen here");
  members.Ignore({"model", "user"});
  ONWARD_RETURN_IF_ERROR(members.Finish());
  return task;
}

HttpReply Written(const EmbeddingTask& task, const std::string& model,
                  const std::vector<std::vector<float>>& vectors) {
  Json data = Json::array();
  int64_t tokens = 0;
  for (size_t i = 0; i < vectors.size(); ++i) {
    tokens += static_cast<int64_t>(task.texts[i].size());
    Json vector = vectors[i];
    if (task.base64) {
      const std::string bytes(reinterpret_cast<const char*>(vectors[i].data()),
                              vectors[i].size() * sizeof(float));
      vector = absl::Base64Escape(bytes);
    }
    data.push_back({{"object", "embedding"}, {"index", i}, {"embedding", std::move(vector)}});
  }
  const Json document = {{"object", "list"},
                         {"data", std::move(data)},
                         {"model", model},
                         {"usage", {{"prompt_tokens", tokens}, {"total_tokens", tokens}}}};
  return {.body = document.dump()};
}

HttpReply ReplyTo(const EmbeddingTask& task, const ServedModel& model, const Outcome& outcome) {
  if (!outcome.reply.ok()) return ErrorReply(outcome.reply.status());
  const auto vectors = Embedded(task.texts, *outcome.reply, model.text()->facts().pooling);
  if (!vectors.ok()) return ErrorReply(vectors.status());
  return Written(task, model.name(), *vectors);
}

absl::Status Embed(ServerState& state, Call& call) {
  ONWARD_ASSIGN_OR_RETURN(const Json body, ReadBody(call.request.body));
  ONWARD_ASSIGN_OR_RETURN(const auto model, TextModelOf(state, call, body));
  if (model->text()->generates())
    return absl::FailedPreconditionError(
        "model: it generates text and makes no embeddings; /v1/completions takes it");
  ONWARD_ASSIGN_OR_RETURN(EmbeddingTask read, ReadTask(body, *model->text()));
  const auto task = std::make_shared<EmbeddingTask>(std::move(read));
  ONWARD_ASSIGN_OR_RETURN(Session::Inputs made, EncoderInputs(task->texts, model->inputs()));
  const auto inputs = std::make_shared<Session::Inputs>(std::move(made));
  ScheduledRequest request;
  request.model = model;
  request.bytes = static_cast<int64_t>(call.request.body.size());
  request.client_left = call.request.client_left;
  request.read = [inputs]() -> absl::StatusOr<InferRequest> {
    InferRequest wanted;
    wanted.inputs = std::move(*inputs);
    return wanted;
  };
  request.reply = [model, task, respond = call.respond](Outcome outcome) {
    RequestTimes& times = outcome.times;
    times.total = times.queue + times.compute_input + times.compute_infer;
    if (outcome.executed_rows > 0)
      model->statistics().RecordExecution(outcome.executed_rows, times);
    HttpReply reply = ReplyTo(*task, *model, outcome);
    if (reply.status == 200) {
      model->statistics().RecordSuccess(outcome.rows, times);
    } else {
      model->statistics().RecordFailure(FailureOf(outcome.reply.status()), times.total);
    }
    respond(std::move(reply));
  };
  return state.scheduler->Submit(std::move(request));
}

}  // namespace

void Embeddings(ServerState& state, Call call) {
  WhenDecoded(state, std::move(call), [&state](Call& decoded) { return Embed(state, decoded); });
}

}  // namespace onward::serving
