// A server with gRPC, and a client of it.
#pragma once

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "serving/grpc/grpc_listener.h"
#include "serving/grpc/messages/inference.pb.h"
#include "serving/server.h"
#include "tests/serving/client.h"
#include "tests/support/proto_text.h"
#include "tests/support/text_model.h"

namespace onward::testing {

// The outcome of a call.
template <typename Reply>
struct Called {
  grpc::Status status;
  Reply reply;
};

class GrpcTest : public ::testing::Test {
 protected:
  // Serves models by name, each a graph in ONNX's text syntax.
  void Start(const std::vector<std::pair<std::string, std::string>>& graphs,
             serving::ServerOptions options = {}, serving::GrpcOptions grpc = {}) {
    std::vector<std::shared_ptr<serving::ServedModel>> models;
    for (const auto& [name, graph] : graphs) models.push_back(Served(name, graph));
    Serve(std::move(models), std::move(options), std::move(grpc));
  }
  static std::shared_ptr<serving::ServedModel> Served(const std::string& name,
                                                      const std::string& graph) {
    auto model = ModelFromText(graph);
    EXPECT_TRUE(model.ok()) << model.status();
    auto session = Session::Create(*std::move(model), {.num_threads = 1});
    EXPECT_TRUE(session.ok()) << session.status();
    auto served = serving::ServedModel::Create(name, *std::move(session));
    EXPECT_TRUE(served.ok()) << served.status();
    return *served;
  }
  void Serve(std::vector<std::shared_ptr<serving::ServedModel>> models,
             serving::ServerOptions options, serving::GrpcOptions grpc) {
    options.address.port = 0;
    options.version = "0.1";
    grpc.address.port = 0;
    options.open_grpc = serving::GrpcAt(grpc);
    auto server = serving::Server::Start(std::move(models), options);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    Connect(grpc::InsecureChannelCredentials());
  }
  void Connect(const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    arguments.SetMaxSendMessageSize(-1);
    channel_ = grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", server_->grpc_port()),
                                         credentials, arguments);
  }

  static std::string Path(const std::string& method) {
    return method[0] == '/' ? method : "/inference.GRPCInferenceService/" + method;
  }

  template <typename Reply, typename Request>
  Called<Reply> Call(const std::string& method, const Request& request,
                     const std::string& authorization = "") {
    grpc::ClientContext context;
    if (!authorization.empty()) context.AddMetadata("authorization", authorization);
    return Call<Reply>(method, request, context);
  }
  template <typename Reply, typename Request>
  Called<Reply> Call(const std::string& method, const Request& request,
                     grpc::ClientContext& context) {
    grpc::TemplatedGenericStub<Request, Reply> stub(channel_);
    Called<Reply> called;
    std::promise<grpc::Status> done;
    stub.UnaryCall(&context, Path(method), grpc::StubOptions(), &request, &called.reply,
                   [&](grpc::Status status) { done.set_value(std::move(status)); });
    called.status = done.get_future().get();
    return called;
  }
  Called<inference::ModelInferResponse> Infer(const inference::ModelInferRequest& request) {
    return Call<inference::ModelInferResponse>("ModelInfer", request);
  }

  static std::string Floats(const std::vector<float>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
  }
  static std::vector<float> FloatsOf(const std::string& bytes) {
    std::vector<float> values(bytes.size() / sizeof(float));
    bytes.copy(reinterpret_cast<char*>(values.data()), values.size() * sizeof(float));
    return values;
  }
  // A request with one input of FP32, raw.
  static inference::ModelInferRequest RawRequest(const std::string& model, const std::string& input,
                                                 const std::vector<int64_t>& shape,
                                                 const std::vector<float>& values) {
    inference::ModelInferRequest request;
    request.set_model_name(model);
    auto& tensor = *request.add_inputs();
    tensor.set_name(input);
    tensor.set_datatype("FP32");
    for (const int64_t dim : shape) tensor.add_shape(dim);
    request.add_raw_input_contents(Floats(values));
    return request;
  }

  std::unique_ptr<serving::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

}  // namespace onward::testing
