// A call of gRPC with many requests and replies: ModelStreamInfer.
#pragma once

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "serving/grpc/calls.h"
#include "serving/grpc/message_exchange.h"

namespace onward::serving {

// Requests run as they come, at the same time; replies are sent in the order of the requests. An
// error is a reply too, after which the stream continues, unless the client's metadata has
// triton_grpc_error: true. Lives until gRPC and the endpoints are done with it, whoever is last.
class StreamCall : public grpc::ServerGenericBidiReactor,
                   public DrainableCall,
                   public std::enable_shared_from_this<StreamCall> {
 public:
  StreamCall(const grpc::CallbackServerContext& context, Calls& calls);
  // Checks the key before anything is read.
  void Begin();

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override { left_.request_stop(); }
  void OnDone() override;
  void Drain() override;

 private:
  // A request that is under way, or whose replies wait to be sent.
  struct Slot {
    std::string model, id;
    std::deque<grpc::ByteBuffer> replies;
    bool done = false;
    std::shared_ptr<BodyPipe> pipe;  // events of text, taken when the slot has its turn
    bool wants_final = false;        // after the last event
  };

  void Take(grpc::ByteBuffer message, const std::shared_ptr<Slot>& slot);
  void TakeText(TextRequest text, const InferHead& head, const std::shared_ptr<Slot>& slot);
  void OpenPipe(std::shared_ptr<BodyPipe> pipe, const std::shared_ptr<Slot>& slot);
  HttpRequest Completed(HttpRequest request) const;
  using MakeReply = std::function<absl::StatusOr<std::vector<BodyPart>>()>;
  void PutMade(Slot& slot, const MakeReply& make);
  void Put(Slot& slot, grpc::ByteBuffer reply);  // the only one
  void Fail(Slot& slot, const absl::Status& why);
  // The rest is called with mutex_.
  void ReadMore();
  void TakeEvents(Slot& slot);
  void Continue();
  void End(const grpc::Status& status);

  Calls& calls_;
  const HttpFields fields_;
  const std::string client_;
  const bool errors_end_;
  std::stop_source left_;
  std::mutex mutex_;
  std::deque<std::shared_ptr<Slot>> slots_;  // in the order of the requests
  grpc::ByteBuffer incoming_, outgoing_;
  bool reading_ = false, writing_ = false;
  bool ended_ = false;     // no more requests are taken
  bool finished_ = false;  // nothing more is sent
  grpc::Status final_;
  std::shared_ptr<StreamCall> self_;  // until gRPC is done
};

}  // namespace onward::serving
