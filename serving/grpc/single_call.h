// A call of gRPC with one message and one reply.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "serving/grpc/calls.h"
#include "serving/keys.h"

namespace onward::serving {

// Lives until gRPC and the endpoint are done with it, whoever is last.
class SingleCall : public grpc::ServerGenericBidiReactor,
                   public DrainableCall,
                   public std::enable_shared_from_this<SingleCall> {
 public:
  using Message = absl::StatusOr<std::vector<BodyPart>>;  // its bytes

  // Checks the key before anything is read.
  void Begin(RouteClass route_class);
  // Sends the first reply that is made; later ones are dropped. Where memory is missing for it, the
  // call ends with ResourceExhausted. Thread-safe.
  void ReplyWith(const std::function<Message()>& make);
  void Reply(const absl::Status& error) {
    ReplyWith([&] { return Message(error); });
  }

  void OnReadDone(bool ok) final;
  void OnCancel() final { left_.request_stop(); }
  void OnDone() final;
  void Drain() final;

 protected:
  SingleCall(const grpc::CallbackServerContext& context, Calls& calls);

  // The message has come.
  virtual void Take() = 0;
  // The request that the endpoint gets, with what all calls have.
  HttpRequest Completed(HttpRequest request) const;

  Calls& calls_;
  grpc::ByteBuffer request_;

 private:
  const HttpFields fields_;
  const std::string client_;
  std::stop_source left_;
  std::atomic<bool> taken_{false};  // the message has come, or is not waited for any more
  std::atomic<bool> replied_{false};
  grpc::ByteBuffer reply_;
  grpc::Alarm alarm_;
  std::shared_ptr<SingleCall> self_;  // until gRPC is done
};

// The call of a method by its path; Unimplemented: there is none. Owned by itself.
grpc::ServerGenericBidiReactor* NewCall(const grpc::GenericCallbackServerContext& context,
                                        Calls& calls);

}  // namespace onward::serving
