// Runs a model.
#include <new>
#include <utility>

#include "serving/endpoints/endpoints.h"
#include "serving/protocol/error_reply.h"
#include "serving/protocol/infer_reply.h"
#include "serving/protocol/infer_request.h"

namespace onward::serving {
namespace {

HttpReply Written(const absl::StatusOr<InferReply>& reply) {
  if (!reply.ok()) return ErrorReply(reply.status());
  try {
    absl::StatusOr<HttpReply> written = WriteInferReply(*reply);
    return written.ok() ? *std::move(written) : ErrorReply(written.status());
  } catch (const std::bad_alloc&) {
    return ErrorReply(503, "there is not enough memory for this reply now");
  }
}

}  // namespace

void Infer(ServerState& state, Call call) {
  const auto model = ModelOf(state, call);
  if (!model.ok()) return call.respond(ErrorReply(model.status()));
  const auto shared = std::make_shared<Call>(std::move(call));
  ScheduledRequest request;
  request.model = *model;
  request.bytes = static_cast<int64_t>(shared->request.body.size());
  request.client_left = shared->request.client_left;
  request.read = [model = *model, shared] {
    return ReadInferRequest(shared->request.fields, shared->request.body, model->inputs());
  };
  request.reply = [shared](const absl::StatusOr<InferReply>& reply, const RequestTimes&) {
    shared->respond(Written(reply));
  };
  const absl::Status submitted = state.scheduler->Submit(std::move(request));
  if (!submitted.ok()) shared->respond(ErrorReply(submitted));
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
