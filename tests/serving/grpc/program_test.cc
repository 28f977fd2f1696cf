// onward serve --grpc, as a user meets it.
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <csignal>
#include <future>
#include <regex>

#include "serving/grpc/messages/inference.pb.h"
#include "tests/cli/train_fixture.h"

namespace onward {
namespace {

using ::testing::HasSubstr;

class GrpcProgramTest : public testing::TrainCommandTest {
 protected:
  static std::string Mnist() {
    return std::string(ONWARD_SOURCE_DIR) + "/examples/mnist/mnist-8.onnx";
  }
};

TEST_F(GrpcProgramTest, ThePrintedAddressTakesCalls) {
  const std::string log = directory_.path("log");
  const pid_t server =
      Start({"serve", Mnist(), "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"}, log);
  ASSERT_TRUE(Until([&] { return testing::ReadFile(log).find("curl '") != std::string::npos; }))
      << testing::ReadFile(log);
  const std::string said = testing::ReadFile(log);
  std::smatch address;
  ASSERT_TRUE(std::regex_search(
      said, address,
      std::regex(
          "^serving 1 model on http://127.0.0.1:[0-9]+ and by gRPC on (127.0.0.1:[0-9]+)\n")))
      << said;
  inference::ModelInferRequest request;
  request.set_model_name("mnist-8");
  auto& input = *request.add_inputs();
  input.set_name("Input3");
  input.set_datatype("FP32");
  for (const int64_t dim : {1, 1, 28, 28}) input.add_shape(dim);
  request.add_raw_input_contents(std::string(784 * sizeof(float), '\0'));
  grpc::TemplatedGenericStub<inference::ModelInferRequest, inference::ModelInferResponse> stub(
      grpc::CreateChannel(address[1], grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  inference::ModelInferResponse reply;
  std::promise<grpc::Status> done;
  stub.UnaryCall(&context, "/inference.GRPCInferenceService/ModelInfer", grpc::StubOptions(),
                 &request, &reply, [&](grpc::Status status) { done.set_value(status); });
  const grpc::Status status = done.get_future().get();
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(reply.outputs(0).shape_size(), 2);
  EXPECT_EQ(reply.raw_output_contents(0).size(), 10 * sizeof(float));
  kill(server, SIGTERM);
  EXPECT_EQ(Await(server), 0) << testing::ReadFile(log);
  EXPECT_EQ(Onward(absl::StrCat("serve ", Mnist(), " --http 127.0.0.1:0 --grpc unix:a")), 1);
  EXPECT_THAT(log_, HasSubstr("--grpc: expected HOST:PORT"));
  EXPECT_EQ(Onward(absl::StrCat("serve --check ", Mnist(), " --grpc host:1")), 1);
  EXPECT_THAT(log_, HasSubstr("--grpc: 'host' is not an address"));
}

}  // namespace
}  // namespace onward
