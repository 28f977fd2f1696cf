// What onward train says of the weights that it trains, and --verbose of every one of them.
#include "onnx/onnx_pb.h"
#include "tests/cli/train_fixture.h"
#include "tests/support/proto_text.h"

namespace onward {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kLayer[] = R"(
    <ir_version: 10, opset_import: ["" : 21]>
    g (float[batch,2] x) => (float[batch,2] logits)
    <float[2] factors = {3.5, -1.25}, float[2,2] weight = {1, 2, 3, 4}, float[2] bias = {5, -6}> {
      scaled = Mul(x, factors)
      product = MatMul(scaled, weight)
      logits = Add(product, bias) })";

class TrainChoicesTest : public testing::TrainCommandTest {
 protected:
  void SetUp() override {
    proto_ = testing::ProtoFromText(kLayer);
    directory_.Write("train.jsonl",
                     "{\"x\": [1, 2], \"label\": 0}\n{\"x\": [3, 4], \"label\": 1}\n");
    config_ = directory_.Write("train.textproto", R"(
        model: "model.onnx" loss { cross_entropy {} } optimizer { sgd { lr: 0.1 } }
        data { jsonl { path: "train.jsonl" field { name: "x" dim: 2 }
                       field { name: "label" element: INT64 } } }
        batch_size: 2 steps: 1 threads: 1)");
  }

  // As torch.onnx.export(dynamo=True) writes it.
  void Say(const std::string& name, const std::string& kind) {
    auto* about = proto_.mutable_graph()->add_value_info();
    about->set_name(name);
    for (const auto& tensor : proto_.graph().initializer()) {
      if (tensor.name() != name) continue;
      auto* type = about->mutable_type()->mutable_tensor_type();
      type->set_elem_type(tensor.data_type());
      for (const int64_t dim : tensor.dims()) type->mutable_shape()->add_dim()->set_dim_value(dim);
    }
    auto* entry = about->add_metadata_props();
    entry->set_key("pkg.torch.export.graph_signature.InputSpec.kind");
    entry->set_value(kind);
  }
  std::string Train(const std::string& more) {
    directory_.Write("model.onnx", proto_.SerializeAsString());
    EXPECT_EQ(Call(absl::StrCat(config_, " --overwrite --output-dir ", directory_.path("out"), " ",
                                more)),
              0)
        << log_;
    return log_;
  }

  onnx::ModelProto proto_;
};

TEST_F(TrainChoicesTest, EachRunSaysHowManyAreTrainedAndOnWhatGround) {
  Say("weight", "PARAMETER");
  Say("bias", "PARAMETER");
  Say("factors", "BUFFER");
  const std::string summary =
      "2 weights are trained (2 the model says so); 1 are frozen (1 buffers and constants, as the "
      "model says)\n";
  EXPECT_THAT(Train(""), AllOf(HasSubstr(summary), Not(HasSubstr("model: a parameter")),
                               Not(HasSubstr("model: a buffer"))));
  EXPECT_THAT(
      Train("--verbose"),
      AllOf(HasSubstr(summary), ContainsRegex("weight +float32.2,2. +4 +yes +model: a parameter"),
            ContainsRegex("bias +float32.2. +2 +yes +model: a parameter"),
            ContainsRegex("factors +float32.2. +2 +buffer +model: a buffer")));
}

TEST_F(TrainChoicesTest, GuessesAreSaidToBeGuesses) {
  const std::string summary =
      "3 weights are trained (3 guessed: the file does not say what they are); 0 are frozen\n";
  EXPECT_THAT(Train(""), AllOf(HasSubstr(summary), Not(HasSubstr("guess:"))));
  EXPECT_THAT(Train("--verbose"),
              AllOf(HasSubstr(summary),
                    ContainsRegex("factors +float32.2. +2 +yes +guess: an initializer of floats")));
}

}  // namespace
}  // namespace onward
