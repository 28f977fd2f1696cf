#include "serving/grpc/single_call.h"

#include <chrono>
#include <new>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "serving/grpc/messages/http_status.h"

namespace onward::serving {
namespace {

constexpr std::chrono::seconds kMessageDeadline(60);  // from the call's begin to its message

absl::Status NoMemory(const char* what) {
  return absl::ResourceExhaustedError(
      absl::StrCat("there is not enough memory for this ", what, " now"));
}

}  // namespace

SingleCall::SingleCall(const grpc::CallbackServerContext& context, Calls& calls)
    : calls_(calls), fields_(FieldsOf(context)), client_(ClientOfCall(context)) {}

void SingleCall::Begin(RouteClass route_class) {
  self_ = shared_from_this();
  calls_.Add(this);
  if (const auto refusal = CheckKey(calls_.state.keys, route_class, fields_)) {
    taken_ = true;
    return Reply(StatusOf(*refusal));
  }
  // The alarm keeps its function as long as this has the alarm.
  alarm_.Set(std::chrono::system_clock::now() + kMessageDeadline,
             [call = weak_from_this()](bool late) {
               const std::shared_ptr<SingleCall> self = late ? call.lock() : nullptr;
               if (self != nullptr && !self->taken_.exchange(true))
                 self->Reply(absl::DeadlineExceededError("the message did not come in time"));
             });
  StartRead(&request_);
}

void SingleCall::OnReadDone(bool ok) {
  if (taken_.exchange(true)) return;
  alarm_.Cancel();
  if (!ok) return Reply(absl::InvalidArgumentError("the call has no message"));
  try {
    Take();
  } catch (const std::bad_alloc&) {
    Reply(NoMemory("request"));
  }
}

void SingleCall::Drain() {
  if (!taken_.exchange(true)) Reply(absl::UnavailableError("the server is stopping"));
}

void SingleCall::ReplyWith(const std::function<Message()>& make) {
  absl::Status status;
  grpc::ByteBuffer buffer;
  try {
    const Message message = make();
    status = message.status();
    if (message.ok()) buffer = BufferOf(*message);
  } catch (const std::bad_alloc&) {
    status = NoMemory("reply");
  }
  if (replied_.exchange(true)) return;
  if (!status.ok()) return Finish(StatusOfGrpc(status));
  reply_ = std::move(buffer);
  StartWriteAndFinish(&reply_, grpc::WriteOptions(), grpc::Status::OK);
}

void SingleCall::OnDone() {
  calls_.Remove(this);
  alarm_.Cancel();
  const std::shared_ptr<SingleCall> last = std::move(self_);
}

HttpRequest SingleCall::Completed(HttpRequest request) const {
  request.fields = fields_;
  request.client = client_;
  request.client_left = left_.get_token();
  return request;
}

}  // namespace onward::serving
