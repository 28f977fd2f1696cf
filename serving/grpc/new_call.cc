// Which call each method is.
#include <utility>

#include "absl/strings/str_cat.h"
#include "onward/status.h"
#include "serving/grpc/message_exchange.h"
#include "serving/grpc/messages/http_status.h"
#include "serving/grpc/messages/unary_methods.h"
#include "serving/grpc/single_call.h"
#include "serving/grpc/stream_call.h"
#include "serving/routes.h"

namespace onward::serving {
namespace {

std::vector<BodyPart> OnePart(std::string bytes) {
  auto owner = std::make_shared<const std::string>(std::move(bytes));
  return {{*owner, owner}};
}

// A method that an endpoint over HTTP does.
class EndpointCall : public SingleCall {
 public:
  EndpointCall(const grpc::CallbackServerContext& context, Calls& calls, const UnaryMethod& method)
      : SingleCall(context, calls), method_(method) {}

 private:
  void Take() override {
    absl::StatusOr<HttpRequest> request = ReadRequest();
    if (!request.ok()) return Reply(request.status());
    auto respond = [self = shared_from_this(), this](const HttpReply& reply) {
      ReplyWith([&]() -> Message {
        ONWARD_ASSIGN_OR_RETURN(std::string bytes, method_.reply(reply));
        return OnePart(std::move(bytes));
      });
    };
    Dispatch(calls_.state, Completed(*std::move(request)), std::move(respond));
  }

  absl::StatusOr<HttpRequest> ReadRequest() {
    const size_t most = method_.most_bytes;
    if (most > 0 && request_.Length() > most)
      return absl::InvalidArgumentError(
          absl::StrCat("the message has ", request_.Length(), " bytes, expected at most ", most));
    ONWARD_ASSIGN_OR_RETURN(const std::string bytes, BytesOf(request_));
    request_.Clear();
    return method_.request(bytes);
  }

  const UnaryMethod& method_;
};

class InferCall : public SingleCall {
 public:
  InferCall(const grpc::CallbackServerContext& context, Calls& calls)
      : SingleCall(context, calls) {}

 private:
  void Take() override {
    const absl::StatusOr<InferHead> head = HeadOf(request_);
    if (!head.ok()) return Reply(head.status());
    absl::StatusOr<std::optional<TextRequest>> text = TextRequestOf(calls_.state, *head, request_);
    if (!text.ok()) return Reply(text.status());
    if (text->has_value()) return Generate(*head, **std::move(text));
    const auto exchange = std::make_shared<MessageExchange>(std::move(request_));
    auto respond = [self = shared_from_this(), this, exchange](const HttpReply& reply) {
      ReplyWith([&] { return exchange->Sent(reply); });
    };
    Dispatch(calls_.state, Completed(RequestTo(*head, "infer")), std::move(respond), exchange);
  }

  void Generate(const InferHead& head, TextRequest text) {
    HttpRequest request = Completed(RequestTo(head, "generate"));
    request.body = std::move(text.body);
    Dispatch(calls_.state, std::move(request),
             [self = shared_from_this(), this](const HttpReply& reply) {
               ReplyWith([&]() -> Message {
                 ONWARD_RETURN_IF_ERROR(StatusOf(reply));
                 return WriteTextMessage(reply.body);
               });
             });
  }
};

class RefusedCall : public grpc::ServerGenericBidiReactor {
 public:
  explicit RefusedCall(const absl::Status& why) { Finish(StatusOfGrpc(why)); }
  void OnDone() override { delete this; }
};

grpc::ServerGenericBidiReactor* Begun(const std::shared_ptr<SingleCall>& call,
                                      RouteClass route_class) {
  call->Begin(route_class);
  return call.get();
}

grpc::ServerGenericBidiReactor* Begun(const std::shared_ptr<StreamCall>& call) {
  call->Begin();
  return call.get();
}

absl::Status NoMethod(const std::string& path) {
  if (path.find("SharedMemory") != path.npos)
    return absl::UnimplementedError("shared memory is off: send tensors in messages");
  return absl::UnimplementedError(absl::StrCat("there is no method ", path));
}

}  // namespace

grpc::ServerGenericBidiReactor* NewCall(const grpc::GenericCallbackServerContext& context,
                                        Calls& calls) {
  const std::string& path = context.method();
  if (path == "/inference.GRPCInferenceService/ModelInfer")
    return Begun(std::make_shared<InferCall>(context, calls), RouteClass::kInference);
  if (path == "/inference.GRPCInferenceService/ModelStreamInfer")
    return Begun(std::make_shared<StreamCall>(context, calls));
  if (const UnaryMethod* const method = UnaryMethodAt(path))
    return Begun(std::make_shared<EndpointCall>(context, calls, *method), method->route_class);
  return new RefusedCall(NoMethod(path));
}

}  // namespace onward::serving
