#include "serving/grpc/stream_call.h"

#include <new>
#include <utility>

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

}  // namespace

StreamCall::StreamCall(const grpc::CallbackServerContext& context, Calls& calls)
    : calls_(calls),
      fields_(FieldsOf(context)),
      client_(ClientOf(context)),
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
    Fail(*slot, absl::ResourceExhaustedError("there is not enough memory for this request now"), "",
         "");
  }
  const std::lock_guard lock(mutex_);
  ReadMore();
}

void StreamCall::Take(grpc::ByteBuffer message, const std::shared_ptr<Slot>& slot) {
  auto asked = MessageExchange::Begin(std::move(message));
  if (!asked.ok()) return Fail(*slot, asked.status(), "", "");
  HttpRequest request = std::move(asked->request);
  request.fields = fields_;
  request.client = client_;
  request.client_left = left_.get_token();
  const auto exchange = asked->exchange;
  auto respond = [self = shared_from_this(), this, slot, exchange,
                  model = request.segments[2]](const HttpReply& reply) {
    auto sent = exchange->Sent(reply);
    if (!sent.ok()) return Fail(*slot, sent.status(), model, exchange->id());
    Put(*slot, BufferOf(AsStreamed(*std::move(sent))), /*last=*/true);
  };
  Dispatch(calls_.state, std::move(request), std::move(respond), exchange);
}

void StreamCall::Fail(Slot& slot, const absl::Status& why, const std::string& model,
                      const std::string& id) {
  if (errors_end_) {
    const std::lock_guard lock(mutex_);
    return End(StatusOfGrpc(why));
  }
  inference::ModelStreamInferResponse reply;
  reply.set_error_message(std::string(why.message()));
  reply.mutable_infer_response()->set_model_name(model);
  reply.mutable_infer_response()->set_id(id);
  const auto bytes = std::make_shared<const std::string>(reply.SerializeAsString());
  Put(slot, BufferOf({{*bytes, bytes}}), /*last=*/true);
}

void StreamCall::Put(Slot& slot, grpc::ByteBuffer reply, bool last) {
  const std::lock_guard lock(mutex_);
  if (slot.done) return;
  slot.replies.push_back(std::move(reply));
  slot.done = last;
  Continue();
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
  if (writing_ || finished_) return;
  while (!slots_.empty() && slots_.front()->replies.empty() && slots_.front()->done)
    slots_.pop_front();
  if (!slots_.empty() && !slots_.front()->replies.empty()) {
    outgoing_ = std::move(slots_.front()->replies.front());
    slots_.front()->replies.pop_front();
    writing_ = true;
    return StartWrite(&outgoing_);
  }
  if (ended_ && slots_.empty()) return End(final_);
  ReadMore();
}

void StreamCall::End(const grpc::Status& status) {
  if (finished_) return;
  finished_ = ended_ = true;
  Finish(status);
}

}  // namespace onward::serving
