// Text over gRPC, of a model whose continuations are known: each letter is followed by the next.
#include "tests/serving/grpc/grpc_client.h"
#include "tests/serving/grpc/grpc_stream.h"
#include "tests/serving/text_fixture.h"

namespace onward {
namespace {

using ::testing::HasSubstr;

class GrpcTextTest : public testing::GrpcTest {
 protected:
  void SetUp() override {
    text_ = serving::LettersTextModel();
    auto served = serving::ServedModel::Create(
        "letters", std::shared_ptr<Session>(text_, text_->session()), {.text = text_});
    ASSERT_TRUE(served.ok()) << served.status();
    Serve({*served}, {}, {});
  }

  static inference::ModelInferRequest Ask(const std::string& text, int32_t most) {
    inference::ModelInferRequest request;
    request.set_model_name("letters");
    request.set_id("seven");
    AddInput(request, "text_input", "BYTES").add_bytes_contents(text);
    AddInput(request, "max_tokens", "INT32").add_int_contents(most);
    AddInput(request, "temperature", "FP32").add_fp32_contents(0);
    return request;
  }
  static inference::InferTensorContents& AddInput(inference::ModelInferRequest& request,
                                                  const std::string& name,
                                                  const std::string& datatype) {
    auto& input = *request.add_inputs();
    input.set_name(name);
    input.set_datatype(datatype);
    input.add_shape(1);
    return *input.mutable_contents();
  }
  // Less the length in front.
  static std::string TextOf(const inference::ModelInferResponse& reply) {
    EXPECT_EQ(reply.outputs_size(), 1);
    EXPECT_EQ(reply.raw_output_contents_size(), 1);
    if (reply.outputs_size() != 1 || reply.raw_output_contents_size() != 1) return "";
    EXPECT_EQ(reply.outputs(0).name(), "text_output");
    EXPECT_EQ(reply.outputs(0).datatype(), "BYTES");
    return reply.raw_output_contents(0).substr(4);
  }
  static bool IsFinal(const inference::ModelStreamInferResponse& reply) {
    return reply.infer_response().parameters().at("triton_final_response").bool_param();
  }

  std::shared_ptr<serving::TextModel> text_;
};

TEST_F(GrpcTextTest, AsAWhole) {
  const auto [status, reply] = Infer(Ask("ab", 4));
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(reply.model_name(), "letters");
  EXPECT_EQ(reply.id(), "seven");
  EXPECT_EQ(TextOf(reply), "cdef");
  auto wrong = Ask("ab", 4);
  AddInput(wrong, "max_tokns", "INT32").add_int_contents(1);
  const grpc::Status refused = Infer(wrong).status;
  EXPECT_EQ(refused.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_THAT(refused.error_message(), HasSubstr("max_tokns"));
}

TEST_F(GrpcTextTest, AsAStream) {
  testing::GrpcStream stream(channel_);
  ASSERT_TRUE(stream.Open());
  auto request = Ask("ab", 4);
  (*request.mutable_parameters())["triton_enable_empty_final_response"].set_bool_param(true);
  ASSERT_TRUE(stream.Send(request));
  inference::ModelStreamInferResponse reply;
  std::string text;
  int replies = 0;
  while (stream.Read(reply) && !IsFinal(reply)) {
    ++replies;
    EXPECT_EQ(reply.infer_response().id(), "seven");
    text += TextOf(reply.infer_response());
  }
  EXPECT_EQ(text, "cdef");
  EXPECT_GE(replies, 4);  // the end of a text may be a piece without one
  EXPECT_TRUE(IsFinal(reply));
  EXPECT_EQ(reply.infer_response().outputs_size(), 0);
  // Whole texts and errors keep their places between streams.
  auto whole = Ask("k", 3);
  AddInput(whole, "stream", "BOOL").add_bool_contents(false);
  ASSERT_TRUE(stream.Send(request));
  ASSERT_TRUE(stream.Send(whole));
  ASSERT_TRUE(stream.Send(Ask("ab", -1)));
  ASSERT_TRUE(stream.Send(Ask("x", 2)));
  ASSERT_TRUE(stream.SendNoMore());
  std::vector<std::string> said;
  while (stream.Read(reply)) {
    if (!reply.error_message().empty()) {
      said.push_back("error");
    } else if (reply.infer_response().outputs_size() > 0) {
      const std::string piece = TextOf(reply.infer_response());
      if (!piece.empty()) said.push_back(piece);
    }
  }
  EXPECT_EQ(said, std::vector<std::string>({"c", "d", "e", "f", "lmn", "error", "y", "z"}));
  EXPECT_TRUE(stream.End().ok());
}

// A text that nobody reads ends: else the server would never be gone.
TEST_F(GrpcTextTest, AStreamThatIsLeft) {
  for (int i = 0; i < 5; ++i) {
    testing::GrpcStream stream(channel_);
    ASSERT_TRUE(stream.Open());
    ASSERT_TRUE(stream.Send(Ask("ab", 20)));
    inference::ModelStreamInferResponse reply;
    ASSERT_TRUE(stream.Read(reply));
  }
  EXPECT_EQ(TextOf(Infer(Ask("a", 1)).reply), "b");
}

}  // namespace
}  // namespace onward
