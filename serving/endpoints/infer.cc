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

HttpReply ReplyOf(const ServedModel& model, const HttpRequest& http) {
  const auto written = [&]() -> absl::StatusOr<HttpReply> {
    ONWARD_ASSIGN_OR_RETURN(const InferRequest request,
                            ReadInferRequest(http.fields, http.body, model.inputs()));
    ONWARD_ASSIGN_OR_RETURN(const InferReply reply, model.Infer(request, {}));
    return WriteInferReply(reply);
  };
  try {
    absl::StatusOr<HttpReply> reply = written();
    return reply.ok() ? *std::move(reply) : ErrorReply(reply.status());
  } catch (const std::bad_alloc&) {
    return ErrorReply(503, "there is not enough memory for this request now");
  }
}

}  // namespace

void Infer(ServerState& state, Call call) {
  auto model = ModelOf(state, call);
  if (!model.ok()) return call.respond(ErrorReply(model.status()));
  const auto shared = std::make_shared<Call>(std::move(call));
  const bool taken = state.work->Submit(
      [model = *std::move(model), shared] { shared->respond(ReplyOf(*model, shared->request)); });
  if (!taken) shared->respond(ErrorReply(503, "too many requests wait already"));
}

}  // namespace onward::serving
