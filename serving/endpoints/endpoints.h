// The handlers of endpoints and the state that they work on: one file per family.
#pragma once

#include <atomic>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/log.h"
#include "serving/access_log.h"
#include "serving/http/http_handler.h"
#include "serving/keys.h"
#include "serving/log_settings.h"
#include "serving/model_repository.h"
#include "serving/protocol/infer_exchange.h"
#include "serving/repository/load_queue.h"
#include "serving/request_trace.h"
#include "serving/scheduling/scheduler.h"
#include "serving/text/text_run.h"

namespace onward::serving {

struct ServerState {
  ModelRepository models;
  std::string version;  // of the program
  AccessKeys keys;
  size_t most_body_bytes = 0;  // decompressed
  std::atomic<bool> ready{true};
  std::atomic<int> loading{0};           // models that the server begins with
  std::atomic<bool> load_failed{false};  // of one of them
  LogSink log;
  LogSettings log_settings;
  RequestTracing tracing;
  AccessLog access_log;                  // null: none but `log` at a verbose level
  std::shared_ptr<Scheduler> scheduler;  // models of text share it
  LoadQueue text_queue;                  // reads requests for text
  TextRuns text_runs;
};

// One request at its endpoint.
struct Call {
  HttpRequest request;
  std::vector<std::string> names;  // what stands for "{}" in the pattern
  HttpResponder respond;
  std::shared_ptr<AccessRecord> record = nullptr;  // null: nobody reads the log
  // An inference whose request and reply are here, not in the bodies. Null: it is in HTTP.
  std::shared_ptr<InferExchange> exchange = nullptr;
};

HttpReply JsonReply(const nlohmann::json& document, int status = 200);
// The model that names[0] says, of the version names[1], if there is one.
absl::StatusOr<std::shared_ptr<ServedModel>> ModelOf(const ServerState& state, const Call& call);

// health.cc
void Live(ServerState& state, Call call);
void Ready(ServerState& state, Call call);
void ModelReady(ServerState& state, Call call);

// models.cc
void ServerMetadata(ServerState& state, Call call);
void ModelList(ServerState& state, Call call);
void ModelMetadata(ServerState& state, Call call);
void ModelConfiguration(ServerState& state, Call call);

// repository.cc
void RepositoryIndex(ServerState& state, Call call);
void LoadModelNow(ServerState& state, Call call);
void UnloadModel(ServerState& state, Call call);

// statistics.cc
void AllStatistics(ServerState& state, Call call);
void Statistics(ServerState& state, Call call);
void Metrics(ServerState& state, Call call);

// openapi.cc
void OpenApiDescription(ServerState& state, Call call);

// page.cc
void Page(ServerState& state, Call call);
void PagePart(ServerState& state, Call call);

// logging.cc
void LogSettingsNow(ServerState& state, Call call);
void ChangeLogSettings(ServerState& state, Call call);

// tracing.cc
void TraceSettingsNow(ServerState& state, Call call);
void ChangeTraceSettings(ServerState& state, Call call);

// infer.cc
void Infer(ServerState& state, Call call);
// Refuses, before its body is read, a request that would wait too long.
std::optional<HttpReply> AdmitInfer(const ServerState& state, const std::vector<std::string>& names,
                                    int64_t body_bytes);

// text_call.cc: what endpoints of text begin with. `handle` is called by another thread, with the
// body as it was before it was compressed; an error that it returns is the reply.
using TextHandler = std::function<absl::Status(Call& call)>;
void WhenDecoded(ServerState& state, Call call, TextHandler handle);
// The model of the path, or the one that the body names, which may be left out where there is one
// model. InvalidArgument: it has no tokenizer; others as ModelOf.
absl::StatusOr<std::shared_ptr<ServedModel>> TextModelOf(const ServerState& state, const Call& call,
                                                         const nlohmann::ordered_json& body);

// text.cc
void Completions(ServerState& state, Call call);
void ChatCompletions(ServerState& state, Call call);
void Generate(ServerState& state, Call call);
void GenerateStream(ServerState& state, Call call);

// embeddings.cc
void Embeddings(ServerState& state, Call call);

// tokenize.cc
void Tokenize(ServerState& state, Call call);
void Detokenize(ServerState& state, Call call);

// openai_models.cc
void OpenAiModelList(ServerState& state, Call call);
void OpenAiModel(ServerState& state, Call call);

}  // namespace onward::serving
