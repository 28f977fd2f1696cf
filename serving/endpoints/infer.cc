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

HttpReply ReplyOf(const ServedModel& model, const std::string& body) {
  const auto written = [&]() -> absl::StatusOr<std::string> {
    ONWARD_ASSIGN_OR_RETURN(const InferRequest request, ReadInferRequest(body));
    ONWARD_ASSIGN_OR_RETURN(const InferReply reply, model.Infer(request, {}));
    return WriteInferReply(reply);
  };
  try {
    absl::StatusOr<std::string> json = written();
    if (!json.ok()) return ErrorReply(json.status());
    return {.body = *std::move(json)};
  } catch (const std::bad_alloc&) {
    return ErrorReply(503, "there is not enough memory for this request now");
  }
}

}  // namespace

void Infer(ServerState& state, Call call) {
  auto model = ModelOf(state, call);
  if (!model.ok()) return call.respond(ErrorReply(model.status()));
  const auto shared = std::make_shared<Call>(std::move(call));
  const bool taken = state.work->Submit([model = *std::move(model), shared] {
    shared->respond(ReplyOf(*model, shared->request.body));
  });
  if (!taken) shared->respond(ErrorReply(503, "too many requests wait already"));
}

}  // namespace onward::serving
