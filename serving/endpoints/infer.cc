// Runs a model.
#include <new>
#include <utility>

#include "onward/status.h"
#include "serving/endpoints/endpoints.h"
#include "serving/protocol/error_reply.h"
#include "serving/protocol/infer_reply.h"
#include "serving/protocol/infer_request.h"

namespace onward::serving {
namespace {

absl::StatusOr<std::string> Written(const ServedModel& model, const std::string& body,
                                    RequestTimer& timer) {
  ONWARD_ASSIGN_OR_RETURN(const InferRequest request, ReadInferRequest(body));
  timer.End(&RequestTimes::compute_input);
  const int64_t rows = model.RowsOf(request.inputs);
  ONWARD_ASSIGN_OR_RETURN(const InferReply reply, model.Infer(request, {}));
  timer.End(&RequestTimes::compute_infer);
  absl::StatusOr<std::string> json = WriteInferReply(reply);
  timer.End(&RequestTimes::compute_output);
  const RequestTimes times = timer.times();
  model.statistics().RecordExecution(rows, times);
  if (json.ok()) model.statistics().RecordSuccess(rows, times);
  return json;
}

HttpReply Failed(const ServedModel& model, const RequestTimer& timer, const absl::Status& status) {
  model.statistics().RecordFailure(FailureOf(status), timer.times().total);
  return ErrorReply(status);
}

HttpReply ReplyOf(const ServedModel& model, const std::string& body, RequestTimer& timer) {
  timer.End(&RequestTimes::queue);
  model.statistics().AddPending(-1);
  try {
    absl::StatusOr<std::string> json = Written(model, body, timer);
    if (!json.ok()) return Failed(model, timer, json.status());
    return {.body = *std::move(json)};
  } catch (const std::bad_alloc&) {
    return Failed(model, timer,
                  absl::ResourceExhaustedError("there is not enough memory for this request now"));
  }
}

}  // namespace

void Infer(ServerState& state, Call call) {
  const auto model = ModelOf(state, call);
  if (!model.ok()) return call.respond(ErrorReply(model.status()));
  const auto shared = std::make_shared<Call>(std::move(call));
  RequestTimer timer;
  (*model)->statistics().AddPending(1);
  const bool taken = state.work->Submit([model = *model, shared, timer]() mutable {
    shared->respond(ReplyOf(*model, shared->request.body, timer));
  });
  if (taken) return;
  (*model)->statistics().AddPending(-1);
  shared->respond(Failed(**model, timer, absl::UnavailableError("too many requests wait already")));
}

}  // namespace onward::serving
