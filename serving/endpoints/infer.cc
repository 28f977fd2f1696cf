// Runs a model.
#include <chrono>
#include <new>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "onward/log.h"
#include "serving/endpoints/endpoints.h"
#include "serving/protocol/content_coding.h"
#include "serving/protocol/error_reply.h"
#include "serving/protocol/infer_reply.h"
#include "serving/protocol/read_infer_request.h"
#include "serving/protocol/traceparent.h"

namespace onward::serving {
namespace {

// A call until its reply.
struct Inference {
  Call call;
  std::optional<HttpReply> refusal = std::nullopt;  // of a body that cannot be decoded
  std::shared_ptr<Trace> trace = nullptr;           // null: it is not traced
};

void WriteTrace(ServerState& state, const Inference& inference) {
  if (inference.trace == nullptr) return;
  const auto path = state.tracing.Write(
      *inference.trace, TraceIdOf(FieldOf(inference.call.request.fields, "traceparent")));
  if (!path.ok()) return Warn(state.log, "serving", std::string(path.status().message()));
  WriteLog(state.log, LogLevel::kNews, "serving", absl::StrCat("trace: ", *path));
}

absl::StatusOr<InferRequest> Read(Inference& inference, const ServedModel& model,
                                  size_t most_body_bytes) {
  if (inference.call.exchange != nullptr) return inference.call.exchange->Read();
  HttpRequest& http = inference.call.request;
  inference.refusal = DecodeBody(http, most_body_bytes);
  if (inference.refusal) return absl::InvalidArgumentError("the body cannot be decoded");
  return ReadInferRequest(http.fields, http.body, model.inputs(), http.tail);
}

HttpReply Written(Inference& inference, const absl::StatusOr<InferReply>& reply) {
  if (inference.refusal) return *std::move(inference.refusal);
  try {
    if (const auto& exchange = inference.call.exchange; exchange != nullptr) {
      const absl::Status written = exchange->Write(reply);
      return written.ok() ? HttpReply() : ErrorReply(written);
    }
    if (!reply.ok()) return ErrorReply(reply.status());
    absl::StatusOr<HttpReply> written = WriteInferReply(*reply);
    if (!written.ok()) return ErrorReply(written.status());
    EncodeBody(inference.call.request, *written);
    return *std::move(written);
  } catch (const std::bad_alloc&) {
    return ErrorReply(503, "there is not enough memory for this reply now");
  }
}

void Note(ServerState& state, Inference& inference, ServedModel& model, const Outcome& outcome,
          int status) {
  WriteTrace(state, inference);
  const RequestTimes& times = outcome.times;
  if (const auto& record = inference.call.record; record != nullptr) {
    record->batch_rows = outcome.batch_rows;
    record->times = times;
    if (inference.call.exchange != nullptr)
      record->bytes_out = inference.call.exchange->bytes_out();
  }
  ModelStatistics& statistics = model.statistics();
  if (outcome.executed_rows > 0) statistics.RecordExecution(outcome.executed_rows, times);
  if (status == 200) {
    statistics.RecordSuccess(outcome.rows, times);
  } else {
    statistics.RecordFailure(FailureOf(outcome.reply.status()), times.total);
  }
}

// Replies to the client, once the model's statistics say the same. A reply is given even where
// there is no memory.
void Finish(ServerState& state, Inference& inference, ServedModel& model, Outcome outcome) {
  const auto begin = std::chrono::steady_clock::now();
  HttpReply reply = NoMemoryReply();
  try {
    reply = Written(inference, outcome.reply);
  } catch (const std::bad_alloc&) {
  }
  const auto end = std::chrono::steady_clock::now();
  RequestTimes& times = outcome.times;
  times.compute_output = std::chrono::duration_cast<std::chrono::nanoseconds>(end - begin).count();
  times.total = times.queue + times.compute_input + times.compute_infer + times.compute_output;
  try {
    AddSpan(inference.trace.get(), "writing", begin, end);
    Note(state, inference, model, outcome, reply.status);
  } catch (const std::bad_alloc&) {  // it is not counted
  }
  inference.call.respond(std::move(reply));
}

int64_t BytesOf(const Call& call) {
  return static_cast<int64_t>(call.exchange == nullptr ? BodySize(call.request)
                                                       : call.exchange->bytes_in());
}

void Refuse(const ServedModel& model, const Call& call, const absl::Status& why) {
  model.statistics().RecordFailure(FailureOf(why), 0);
  call.respond(ErrorReply(why));
}

}  // namespace

void Infer(ServerState& state, Call call) {
  const auto model = ModelOf(state, call);
  if (!model.ok()) return call.respond(ErrorReply(model.status()));
  if (call.record != nullptr) {
    call.record->model = (*model)->name();
    call.record->version = (*model)->version();
  }
  // Nothing is built for those that are refused while too many come.
  if (state.scheduler->refuses()) {
    const absl::Status admitted = state.scheduler->Admit(**model, BytesOf(call));
    if (!admitted.ok()) return Refuse(**model, call, admitted);
  }
  const auto inference = std::make_shared<Inference>(Inference{std::move(call)});
  ScheduledRequest request;
  request.model = *model;
  request.bytes = BytesOf(inference->call);
  request.client_left = inference->call.request.client_left;
  request.trace = inference->trace = state.tracing.Begin();
  request.read = [model = *model, inference, most = state.most_body_bytes] {
    return Read(*inference, *model, most);
  };
  request.reply = [&state, model = *model, inference](Outcome outcome) {
    Finish(state, *inference, *model, std::move(outcome));
  };
  // The network's thread wakes the scheduler at the end of its turn.
  const absl::Status submitted =
      state.scheduler->Submit(std::move(request), /*wakes=*/inference->call.exchange != nullptr);
  if (!submitted.ok()) Refuse(**model, inference->call, submitted);
}

std::optional<HttpReply> AdmitInfer(const ServerState& state, const std::vector<std::string>& names,
                                    int64_t body_bytes) {
  const auto model = state.models.Find(names[0], names.size() > 1 ? names[1] : "");
  if (!model.ok()) return ErrorReply(model.status());
  const absl::Status admitted = state.scheduler->Admit(**model, body_bytes);
  if (!admitted.ok()) return ErrorReply(admitted);
  return std::nullopt;
}

}  // namespace onward::serving
