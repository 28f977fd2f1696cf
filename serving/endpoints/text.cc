// Text: OpenAI's completions and chat, Triton's generate.
#include <atomic>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "onward/status.h"
#include "serving/endpoints/endpoints.h"
#include "serving/protocol/content_coding.h"
#include "serving/protocol/error_reply.h"
#include "serving/text/text_run.h"
#include "serving/text/text_task.h"

namespace onward::serving {
namespace {

// One endpoint: how its requests are read and its replies written.
struct TextEndpoint {
  absl::StatusOr<TextTask> (*read)(const Json& body, const TextModel& model);
  const ReplyFormat& format;
};

int64_t SecondsNow() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string NewId(const char* prefix) {
  static std::atomic<uint64_t> count = static_cast<uint64_t>(SecondsNow()) << 20;
  return absl::StrCat(prefix, absl::Hex(count++, absl::kZeroPad16));
}

// Records the end of a run in the model's statistics.
std::function<void(const absl::Status&)> Counting(std::shared_ptr<ModelStatistics> statistics) {
  const auto begin = std::chrono::steady_clock::now();
  return [begin, statistics = std::move(statistics)](const absl::Status& status) {
    RequestTimes times;
    times.compute_infer = times.total = std::chrono::duration_cast<std::chrono::nanoseconds>(
                                            std::chrono::steady_clock::now() - begin)
                                            .count();
    if (!status.ok()) return statistics->RecordFailure(FailureOf(status), times.total);
    statistics->RecordExecution(1, times);
    statistics->RecordSuccess(1, times);
  };
}

absl::Status Answer(ServerState& state, Call& call, const TextEndpoint& endpoint,
                    std::shared_ptr<const void> counted) {
  ONWARD_ASSIGN_OR_RETURN(const Json body, ReadBody(call.request.body));
  ONWARD_ASSIGN_OR_RETURN(const auto model, TextModelOf(state, call, body));
  if (call.record != nullptr) {
    call.record->model = model->name();
    call.record->version = model->version();
  }
  absl::StatusOr<TextTask> task = endpoint.read(body, *model->text());
  if (!task.ok()) {
    model->statistics().RecordFailure(FailureOf(task.status()), 0);
    return task.status();
  }
  TextRunOptions options;
  options.facts = {NewId(endpoint.format.id_prefix), model->name(), model->version(), SecondsNow()};
  if (const auto id = body.find("id"); id != body.end() && id->is_string() && call.names.size() > 0)
    options.facts.id = id->get<std::string>();
  options.max_wait = state.scheduler->max_wait();
  options.take_turn = [scheduler = state.scheduler, name = model->name()](
                          const std::stop_token& at_once, auto step) {
    scheduler->TakeTurn(name, at_once, step);
  };
  options.client_left = call.request.client_left;
  options.ending = state.text_runs.ending();
  options.counted = std::move(counted);
  options.done = Counting(model->shared_statistics());
  RunText(*model->text(), *std::move(task), endpoint.format, std::move(options), call.respond);
  return absl::OkStatus();
}

void Serve(ServerState& state, Call call, const TextEndpoint& endpoint) {
  WhenDecoded(state, std::move(call), [&state, endpoint](Call& decoded) {
    return Answer(state, decoded, endpoint, state.text_runs.Begin());
  });
}

}  // namespace

void Completions(ServerState& state, Call call) {
  Serve(state, std::move(call), {ReadCompletion, kCompletionFormat});
}

void ChatCompletions(ServerState& state, Call call) {
  Serve(state, std::move(call), {ReadChat, kChatFormat});
}

void Generate(ServerState& state, Call call) {
  Serve(state, std::move(call),
        {[](const Json& body, const TextModel& model) -> absl::StatusOr<TextTask> {
           absl::StatusOr<TextTask> task = ReadGenerate(body, model);
           if (task.ok()) task->stream = false;
           return task;
         },
         kGenerateFormat});
}

void GenerateStream(ServerState& state, Call call) {
  Serve(state, std::move(call),
        {[](const Json& body, const TextModel& model) -> absl::StatusOr<TextTask> {
           absl::StatusOr<TextTask> task = ReadGenerate(body, model);
           if (task.ok()) task->stream = true;
           return task;
         },
         kGenerateFormat});
}

}  // namespace onward::serving
