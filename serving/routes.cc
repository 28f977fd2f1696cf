#include "serving/routes.h"

#include <new>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "serving/http/compression.h"
#include "serving/protocol/error_reply.h"
#include "serving/protocol/openai_error.h"
#include "serving/protocol/read_infer_request.h"
#include "serving/protocol/traceparent.h"

namespace onward::serving {
namespace {

constexpr RouteClass kOpen = RouteClass::kOpen;
constexpr RouteClass kInference = RouteClass::kInference;
constexpr RouteClass kAdmin = RouteClass::kAdmin;

constexpr Route kRoutes[] = {
    {"GET", "v2", kOpen, "The server's name, version and extensions", ServerMetadata},
    {"GET", "v2/health/live", kOpen, "Tells whether the server lives", Live},
    {"GET", "v2/health/ready", kOpen, "Tells whether all models take requests", Ready},
    {"GET", "v2/models", kInference, "The models by name", ModelList},
    // Before any model's name.
    {"GET", "v2/models/stats", kInference, "Counts and times of requests to all models",
     AllStatistics},
    {"GET", "v2/models/{}", kInference, "A model's inputs and outputs", ModelMetadata},
    {"GET", "v2/models/{}/ready", kInference, "Tells whether a model takes requests", ModelReady},
    {"POST", "v2/models/{}/infer", kInference, "Runs a model", Infer, AdmitInfer},
    {"GET", "v2/models/{}/versions/{}", kInference, "A version's inputs and outputs",
     ModelMetadata},
    {"GET", "v2/models/{}/versions/{}/ready", kInference, "Tells whether a version takes requests",
     ModelReady},
    {"POST", "v2/models/{}/versions/{}/infer", kInference, "Runs a version of a model", Infer,
     AdmitInfer},
    {"POST", "v2/models/{}/generate", kInference, "Generates text", Generate},
    {"POST", "v2/models/{}/versions/{}/generate", kInference, "Generates text", Generate},
    {"POST", "v2/models/{}/generate_stream", kInference, "Generates text, as events",
     GenerateStream},
    {"POST", "v2/models/{}/versions/{}/generate_stream", kInference, "Generates text, as events",
     GenerateStream},
    {"POST", "v1/completions", kInference, "Continues a prompt (OpenAI)", Completions},
    {"POST", "v1/chat/completions", kInference, "Continues a conversation (OpenAI)",
     ChatCompletions},
    {"POST", "v1/embeddings", kInference, "Vectors of texts (OpenAI)", Embeddings},
    {"GET", "v1/models", kInference, "The models (OpenAI)", OpenAiModelList},
    {"GET", "v1/models/{}", kInference, "A model (OpenAI)", OpenAiModel},
    {"POST", "tokenize", kInference, "Tokens of a text", Tokenize},
    {"POST", "detokenize", kInference, "The text of tokens", Detokenize},
    {"GET", "v2/models/{}/stats", kInference, "Counts and times of requests to a model",
     Statistics},
    {"GET", "v2/models/{}/versions/{}/stats", kInference,
     "Counts and times of requests to a version", Statistics},
    {"GET", "v2/models/{}/config", kInference, "A model's configuration", ModelConfiguration},
    {"GET", "v2/models/{}/versions/{}/config", kInference, "A version's configuration",
     ModelConfiguration},
    {"POST", "v2/repository/index", kAdmin, "The models, their versions and states",
     RepositoryIndex},
    {"POST", "v2/repository/{}/index", kAdmin, nullptr, RepositoryIndex},
    {"POST", "v2/repository/models/{}/load", kAdmin, "Loads a model, again if it is there",
     LoadModelNow},
    {"POST", "v2/repository/{}/models/{}/load", kAdmin, nullptr, LoadModelNow},
    {"POST", "v2/repository/models/{}/unload", kAdmin, "Unloads a model", UnloadModel},
    {"POST", "v2/repository/{}/models/{}/unload", kAdmin, nullptr, UnloadModel},
    {"GET", "v2/logging", kInference, "The settings of the log", LogSettingsNow},
    {"POST", "v2/logging", kAdmin, "Changes the settings of the log", ChangeLogSettings},
    {"GET", "v2/trace/setting", kInference, "The settings of traces", TraceSettingsNow},
    {"POST", "v2/trace/setting", kAdmin, "Changes the settings of traces", ChangeTraceSettings},
    {"GET", "metrics", kInference, "Counts and times of requests, for Prometheus", Metrics},
    {"GET", "openapi.json", kInference, "This description", OpenApiDescription},
    {"GET", "", kOpen, nullptr, Page},
    {"GET", "page/{}", kOpen, nullptr, PagePart},
};

// Returns whether the path is of the pattern; `names` gets what stands for "{}".
bool Matches(std::string_view pattern, const std::vector<std::string>& segments,
             std::vector<std::string>& names) {
  names.clear();
  for (const std::string& segment : segments) {
    if (pattern.empty()) return false;
    const size_t slash = pattern.find('/');
    const std::string_view expected = pattern.substr(0, slash);
    pattern = slash == pattern.npos ? "" : pattern.substr(slash + 1);
    if (expected == "{}") {
      names.push_back(segment);
    } else if (expected != segment) {
      return false;
    }
  }
  return pattern.empty();
}

bool IsOpenAi(const HttpRequest& request) {
  return !request.segments.empty() && request.segments[0] == "v1";
}

bool WritesAccess(const ServerState& state) {
  return state.access_log != nullptr ||
         (state.log != nullptr && state.log_settings.verbose_level > 0);
}

void WriteAccess(const ServerState& state, const std::string& line) {
  if (state.access_log != nullptr) return state.access_log(line);
  WriteLog(state.log, LogLevel::kNews, "access", line);
}

// An empty reply: the request may be handled. A server that stops still replies to questions, but
// starts no work.
std::optional<HttpReply> CheckRoute(const ServerState& state, const Route& route,
                                    const HttpRequest& head) {
  if (std::optional<HttpReply> refusal = CheckKey(state.keys, route.route_class, head.fields))
    return refusal;
  if (state.ready || route.method != std::string_view("POST")) return std::nullopt;
  return ErrorReply(503, "the server is stopping");
}

// Sends the reply with the traceparent that the request had, and writes the request's line.
HttpResponder Noting(const ServerState& state, const HttpRequest& request,
                     std::shared_ptr<AccessRecord> record, HttpResponder respond) {
  const std::string_view given = FieldOf(request.fields, "traceparent");
  std::string traceparent = TraceIdOf(given).empty() ? "" : std::string(given);
  if (record == nullptr && traceparent.empty()) return respond;
  return [&state, record = std::move(record), respond = std::move(respond),
          traceparent = std::move(traceparent)](HttpReply reply) {
    try {
      if (!traceparent.empty()) reply.fields.emplace_back("traceparent", traceparent);
      if (record != nullptr) WriteAccess(state, AccessLine(*record, reply));
    } catch (const std::bad_alloc&) {  // the reply comes first
    }
    respond(std::move(reply));
  };
}

}  // namespace

absl::Span<const Route> Routes() { return kRoutes; }

void Dispatch(ServerState& state, HttpRequest request, HttpResponder respond,
              std::shared_ptr<InferExchange> exchange) {
  std::string allowed;
  std::vector<std::string> names;
  const size_t bytes = exchange == nullptr ? BodySize(request) : exchange->bytes_in();
  const auto record = WritesAccess(state) ? RecordOf(request, bytes) : nullptr;
  respond = Noting(state, request, record, std::move(respond));
  if (IsOpenAi(request)) {
    respond = [respond = std::move(respond)](HttpReply reply) {
      respond(AsOpenAiError(std::move(reply)));
    };
  }
  for (const Route& route : kRoutes) {
    if (!Matches(route.pattern, request.segments, names)) continue;
    if (request.method == route.method) {
      if (std::optional<HttpReply> refusal = CheckRoute(state, route, request))
        return respond(*std::move(refusal));
      return route.handle(state, {std::move(request), std::move(names), std::move(respond), record,
                                  std::move(exchange)});
    }
    absl::StrAppend(&allowed, allowed.empty() ? "" : ", ", route.method);
  }
  if (allowed.empty()) return respond(ErrorReply(404, "Not Found"));
  HttpReply reply = ErrorReply(405, "Method Not Allowed");
  reply.fields.emplace_back("Allow", allowed);
  respond(std::move(reply));
}

std::optional<HttpReply> Admit(const ServerState& state, const HttpRequest& head,
                               int64_t body_bytes) {
  std::vector<std::string> names;
  for (const Route& route : kRoutes) {
    if (head.method != route.method || !Matches(route.pattern, head.segments, names)) continue;
    std::optional<HttpReply> refusal = CheckRoute(state, route, head);
    if (!refusal && route.admit != nullptr && body_bytes >= 0)
      refusal = route.admit(state, names, body_bytes);
    if (refusal && WritesAccess(state))
      WriteAccess(state, AccessLine(*RecordOf(head, 0), *refusal));
    return refusal;
  }
  return std::nullopt;
}

size_t SplitOf(const HttpRequest& head, size_t body_bytes) {
  if (head.segments.empty() || head.segments.back() != "infer") return body_bytes;
  if (CodingOf(head.fields) != Coding::kIdentity) return body_bytes;
  const auto length = JsonLengthOf(head.fields, body_bytes);
  return length.ok() && length->value_or(0) > 0 ? **length : body_bytes;
}

void NoteRefusal(const ServerState& state, const std::string& client, int status) {
  if (WritesAccess(state)) WriteAccess(state, RefusalLine(client, status));
}

}  // namespace onward::serving
