// Parts that the endpoints of text share.
#include <exception>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "serving/endpoints/endpoints.h"
#include "serving/protocol/content_coding.h"
#include "serving/protocol/error_reply.h"

namespace onward::serving {
namespace {

void HandleDecoded(const ServerState& state, Call& call, const TextHandler& handle) {
  try {
    if (std::optional<HttpReply> refusal = DecodeBody(call.request, state.most_body_bytes))
      return call.respond(*std::move(refusal));
    if (absl::Status status = handle(call); !status.ok()) call.respond(ErrorReply(status));
  } catch (const std::bad_alloc&) {
    call.respond(ErrorReply(503, "there is not enough memory for this request now"));
  } catch (const std::exception& error) {
    call.respond(ErrorReply(500, absl::StrCat("the request failed: ", error.what())));
  }
}

}  // namespace

void WhenDecoded(ServerState& state, Call call, TextHandler handle) {
  const auto shared = std::make_shared<Call>(std::move(call));
  const bool taken = state.text_queue.Submit(
      [&state, shared, handle = std::move(handle)] { HandleDecoded(state, *shared, handle); });
  if (!taken) shared->respond(ErrorReply(absl::UnavailableError("too many requests wait already")));
}

absl::StatusOr<std::shared_ptr<ServedModel>> TextModelOf(const ServerState& state, const Call& call,
                                                         const nlohmann::ordered_json& body) {
  std::string name, version;
  if (!call.names.empty()) {
    name = call.names[0];
    if (call.names.size() > 1) version = call.names[1];
  } else if (const auto given = body.find("model"); given == body.end()) {
    const auto ready = state.models.Ready();
    if (ready.size() != 1) return absl::InvalidArgumentError("model: is missing");
    name = ready[0]->name();
  } else if (given->is_string()) {
    name = given->get<std::string>();
  } else {
    return absl::InvalidArgumentError("model: expected a string");
  }
  absl::StatusOr<std::shared_ptr<ServedModel>> model = state.models.Find(name, version);
  if (!model.ok() || (*model)->text() != nullptr) return model;
  return absl::InvalidArgumentError(absl::StrCat(
      "model: '", name, "' has no tokenizer.json or tokenizer.model, which text needs"));
}

}  // namespace onward::serving
