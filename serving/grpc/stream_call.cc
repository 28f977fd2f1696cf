#include "serving/grpc/stream_call.h"

#include <algorithm>
#include <new>
#include <string_view>
#include <utility>

#include "onward/status.h"
#include "serving/grpc/messages/http_status.h"
#include "serving/grpc/messages/infer_reply_message.h"
#include "serving/grpc/messages/inference.pb.h"
#include "serving/routes.h"

namespace onward::serving {
namespace {

constexpr size_t kMostUnderWay = 64;  // requests of a stream

bool ErrorsEnd(const grpc::CallbackServerContext& context) {
  const auto found = context.client_metadata().find("triton_grpc_error");
  return found != context.client_metadata().end() && found->second == "true";
}

grpc::ByteBuffer BufferOfMessage(const inference::ModelStreamInferResponse& message) {
  const auto bytes = std::make_shared<const std::string>(message.SerializeAsString());
  return BufferOf({{*bytes, bytes}});
}

grpc::ByteBuffer ErrorOf(const absl::Status& why, const std::string& model, const std::string& id) {
  inference::ModelStreamInferResponse reply;
  reply.set_error_message(std::string(why.message()));
  reply.mutable_infer_response()->set_model_name(model);
  reply.mutable_infer_response()->set_id(id);
  return BufferOfMessage(reply);
}

grpc::ByteBuffer FinalOf(const std::string& model, const std::string& id) {
  inference::ModelStreamInferResponse reply;
  inference::ModelInferResponse& empty = *reply.mutable_infer_response();
  empty.set_model_name(model);
  empty.set_id(id);
  (*empty.mutable_parameters())["triton_final_response"].set_bool_param(true);
  return BufferOfMessage(reply);
}

}  // namespace

StreamCall::StreamCall(const grpc::CallbackServerContext& context, Calls& calls)
    : calls_(calls),
      fields_(FieldsOf(context)),
      client_(ClientOfCall(context)),
      errors_end_(ErrorsEnd(context)) {}

void StreamCall::Begin() {
  self_ = shared_from_this();
  calls_.Add(this);
  const auto refusal = CheckKey(calls_.state.keys, RouteClass::kInference, fields_);
  const std::lock_guard lock(mutex_);
  if (refusal) return End(StatusOfGrpc(StatusOf(*refusal)));
  ReadMore();
}

void StreamCall::OnReadDone(bool ok) {
  grpc::ByteBuffer message;
  const auto slot = std::make_shared<Slot>();
  {
    const std::lock_guard lock(mutex_);
    reading_ = false;
    if (!ok) ended_ = true;
    if (ended_) return Continue();
    std::swap(message, incoming_);
    slots_.push_back(slot);
  }
  try {
    Take(std::move(message), slot);
  } catch (const std::bad_alloc&) {
    Fail(*slot, absl::ResourceExhaustedError("there is not enough memory for this request now"));
  }
  const std::lock_guard lock(mutex_);
  ReadMore();
}

void StreamCall::Take(grpc::ByteBuffer message, const std::shared_ptr<Slot>& slot) {
  absl::StatusOr<InferHead> head = HeadOf(message);
  if (!head.ok()) return Fail(*slot, head.status());
  slot->model = head->model;
  slot->id = head->id;
  absl::StatusOr<std::optional<TextRequest>> text = TextRequestOf(calls_.state, *head, message);
  if (!text.ok()) return Fail(*slot, text.status());
  if (text->has_value()) return TakeText(**std::move(text), *head, slot);
  const auto exchange = std::make_shared<MessageExchange>(std::move(message));
  auto respond = [self = shared_from_this(), this, slot, exchange](const HttpReply& reply) {
    PutMade(*slot, [&] { return exchange->Sent(reply); });
  };
  Dispatch(calls_.state, Completed(RequestTo(*head, "infer")), std::move(respond), exchange);
}

void StreamCall::TakeText(TextRequest text, const InferHead& head,
                          const std::shared_ptr<Slot>& slot) {
  HttpRequest request = Completed(RequestTo(head, text.stream ? "generate_stream" : "generate"));
  request.body = std::move(text.body);
  slot->wants_final = text.wants_final;
  Dispatch(calls_.state, std::move(request),
           [self = shared_from_this(), this, slot](const HttpReply& reply) {
             if (reply.pipe != nullptr) return OpenPipe(reply.pipe, slot);
             PutMade(*slot, [&]() -> absl::StatusOr<std::vector<BodyPart>> {
               ONWARD_RETURN_IF_ERROR(StatusOf(reply));
               return WriteTextMessage(reply.body);
             });
           });
}

void StreamCall::OpenPipe(std::shared_ptr<BodyPipe> pipe, const std::shared_ptr<Slot>& slot) {
  {
    const std::lock_guard lock(mutex_);
    if (finished_) return pipe->Close();
    slot->pipe = pipe;
  }
  // The pipe cannot be asked while it calls.
  pipe->Open([call = weak_from_this()] {
    RunSoon([call] {
      const std::shared_ptr<StreamCall> self = call.lock();
      if (self == nullptr) return;
      const std::lock_guard lock(self->mutex_);
      self->Continue();
    });
  });
}

HttpRequest StreamCall::Completed(HttpRequest request) const {
  request.fields = fields_;
  request.client = client_;
  request.client_left = left_.get_token();
  return request;
}

void StreamCall::PutMade(Slot& slot, const MakeReply& make) {
  try {
    absl::StatusOr<std::vector<BodyPart>> made = make();
    if (!made.ok()) return Fail(slot, made.status());
    Put(slot, BufferOf(AsStreamed(*std::move(made), /*is_final=*/true)));
  } catch (const std::bad_alloc&) {
    Fail(slot, absl::ResourceExhaustedError("there is not enough memory for this reply now"));
  }
}

void StreamCall::Fail(Slot& slot, const absl::Status& why) {
  if (errors_end_) {
    const std::lock_guard lock(mutex_);
    return End(StatusOfGrpc(why));
  }
  Put(slot, ErrorOf(why, slot.model, slot.id));
}

void StreamCall::Put(Slot& slot, grpc::ByteBuffer reply) {
  const std::lock_guard lock(mutex_);
  if (slot.done) return;
  slot.replies.push_back(std::move(reply));
  slot.done = true;
  Continue();
}

// Each is "data: JSON" and an empty line.
void StreamCall::TakeEvents(Slot& slot) {
  constexpr std::string_view kBegin = "data: ", kEnd = "\n\n";
  const BodyPipe::Part part = slot.pipe->Take();
  std::string_view rest = part.bytes;
  while (!rest.empty() && !finished_) {
    const size_t end = std::min(rest.find(kEnd), rest.size());
    auto written = WriteTextMessage(
        rest.substr(std::min(kBegin.size(), end), end - std::min(kBegin.size(), end)));
    rest.remove_prefix(std::min(end + kEnd.size(), rest.size()));
    if (!written.ok() && errors_end_) return End(StatusOfGrpc(written.status()));
    slot.replies.push_back(written.ok() ? BufferOf(AsStreamed(*std::move(written), false))
                                        : ErrorOf(written.status(), slot.model, slot.id));
  }
  if (!part.is_last) return;
  slot.pipe = nullptr;
  slot.done = true;
  if (slot.wants_final) slot.replies.push_back(FinalOf(slot.model, slot.id));
}

void StreamCall::OnWriteDone(bool ok) {
  const std::lock_guard lock(mutex_);
  writing_ = false;
  outgoing_.Clear();
  if (!ok) return End(grpc::Status::CANCELLED);
  Continue();
}

void StreamCall::Drain() {
  const std::lock_guard lock(mutex_);
  if (!ended_) final_ = {grpc::StatusCode::UNAVAILABLE, "the server is stopping"};
  ended_ = true;
  Continue();
}

void StreamCall::OnDone() {
  calls_.Remove(this);
  const std::shared_ptr<StreamCall> last = std::move(self_);
}

void StreamCall::ReadMore() {
  if (reading_ || ended_ || finished_ || slots_.size() >= kMostUnderWay) return;
  reading_ = true;
  StartRead(&incoming_);
}

// Sends what has its turn, else reads, else ends.
void StreamCall::Continue() {
  while (!writing_ && !finished_ && !slots_.empty()) {
    Slot& first = *slots_.front();
    if (first.replies.empty() && first.pipe != nullptr) TakeEvents(first);
    if (finished_) return;
    if (!first.replies.empty()) {
      outgoing_ = std::move(first.replies.front());
      first.replies.pop_front();
      writing_ = true;
      return StartWrite(&outgoing_);
    }
    if (!first.done) break;
    slots_.pop_front();
  }
  if (writing_ || finished_) return;
  if (ended_ && slots_.empty()) return End(final_);
  ReadMore();
}

void StreamCall::End(const grpc::Status& status) {
  if (finished_) return;
  finished_ = ended_ = true;
  for (const auto& slot : slots_)
    if (slot->pipe != nullptr) slot->pipe->Close();
  Finish(status);
}

}  // namespace onward::serving
