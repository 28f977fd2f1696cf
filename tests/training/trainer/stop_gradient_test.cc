// `stop_gradient` of a configuration: no gradient passes the values that it names.
#include "tests/support/proto_text.h"
#include "tests/training/trainer/trainer_fixture.h"

namespace onward::training {
namespace {

using ::testing::HasSubstr;

// Four averages of pixels, a layer, "h", another layer.
constexpr char kTwoLayers[] = R"(
    <ir_version: 10, opset_import: ["" : 21]>
    g (float[batch,1,6,6] image) => (float[batch,3] logits)
    <float[4,2] first = {0.1, -0.2, 0.3, 0.4, -0.5, 0.6, 0.7, -0.8},
     float[2,3] second = {0.9, -0.7, 0.5, 0.3, -0.1, 0.2}> {
      pooled = AveragePool <kernel_shape = [3, 3], strides = [3, 3]> (image)
      flat = Flatten(pooled)
      h = MatMul(flat, first)
      logits = MatMul(h, second) })";

class StopGradientTest : public testing::TrainerTest {
 protected:
  void SetUp() override {
    TrainerTest::SetUp();
    const auto proto = testing::ProtoFromText(kTwoLayers);
    scratch_.Write("mlp.onnx", proto.SerializeAsString());
    for (const auto& tensor : proto.graph().initializer()) {
      start_[tensor.name()] = {tensor.float_data().begin(), tensor.float_data().end()};
      ASSERT_FALSE(start_[tensor.name()].empty());
    }
  }
  // Whether the training left the initializer as it was.
  bool StaysUnder(const std::string& initializer, const std::string& config) {
    const auto trainer = Train(Config(absl::StrCat("epochs: 1 export { weights: LAST } ", config)));
    EXPECT_TRUE(trainer.ok()) << trainer.status();
    if (!trainer.ok()) return false;
    const auto model = (*trainer)->TrainedModel();
    EXPECT_TRUE(model.ok()) << model.status();
    const Tensor* now = model->graph.constant(model->graph.FindValue(initializer));
    EXPECT_NE(now, nullptr) << initializer;
    const std::vector<float>& then = start_[initializer];
    return now != nullptr && std::equal(then.begin(), then.end(), now->data<float>());
  }

  std::map<std::string, std::vector<float>> start_;
};

TEST_F(StopGradientTest, FreezesWhatLiesBeforeTheValue) {
  EXPECT_FALSE(StaysUnder("first", ""));
  EXPECT_TRUE(StaysUnder("first", "stop_gradient: 'h'"));
  EXPECT_FALSE(StaysUnder("second", "stop_gradient: 'h'"));
  EXPECT_FALSE(StaysUnder("first", "stop_gradient: 'flat'"));
}

TEST_F(StopGradientTest, AMisspeltNameIsRefused) {
  EXPECT_THAT(Error(Config("epochs: 1 stop_gradient: 'flatt'")),
              HasSubstr("stop_gradient: no value of the model matches 'flatt'; did you mean "
                        "'flat'?"));
}

}  // namespace
}  // namespace onward::training
