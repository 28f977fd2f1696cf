// A client of ModelStreamInfer.
#pragma once

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <memory>
#include <string>

#include "serving/grpc/messages/inference.pb.h"

namespace onward::testing {

// Blocks until each step is done.
class GrpcStream {
 public:
  using Request = inference::ModelInferRequest;
  using Reply = inference::ModelStreamInferResponse;

  explicit GrpcStream(const std::shared_ptr<grpc::Channel>& channel) : stub_(channel) {}
  ~GrpcStream() {
    context_.TryCancel();
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) continue;
  }
  GrpcStream(const GrpcStream&) = delete;
  GrpcStream& operator=(const GrpcStream&) = delete;

  grpc::ClientContext& context() { return context_; }
  bool Open() {
    call_ =
        stub_.PrepareCall(&context_, "/inference.GRPCInferenceService/ModelStreamInfer", &queue_);
    call_->StartCall(this);
    return Done();
  }
  bool Send(const Request& request) {
    call_->Write(request, this);
    return Done();
  }
  bool SendNoMore() {
    call_->WritesDone(this);
    return Done();
  }
  // False: the stream has ended.
  bool Read(Reply& reply) {
    call_->Read(&reply, this);
    return Done();
  }
  grpc::Status End() {
    grpc::Status status;
    call_->Finish(&status, this);
    Done();
    return status;
  }

 private:
  bool Done() {
    void* tag = nullptr;
    bool ok = false;
    return queue_.Next(&tag, &ok) && ok;
  }

  grpc::TemplatedGenericStub<Request, Reply> stub_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::ClientAsyncReaderWriter<Request, Reply>> call_;
};

}  // namespace onward::testing
