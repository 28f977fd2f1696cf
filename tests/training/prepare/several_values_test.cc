// Normalizations over one value in training: refused where PyTorch's instance_norm ("Expected more
// than 1 spatial element when training") and group_norm ("Expected more than 1 value per channel
// when training") refuse them, and nowhere else.
#include "training/prepare/several_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "onward/session.h"
#include "tests/support/text_model.h"
#include "tests/training/trainer/trainer_fixture.h"
#include "training/prepare/mode.h"

namespace onward::training {
namespace {

using namespace expr;  // NOLINT
using ::testing::HasSubstr;
using testing::kSide;
using testing::Normal;

const std::string kHead =
    "g (float[N,4,L] x) => (float[A,B,C] y) "
    "<float[4] scale = {1, 2, 3, 4}, float[4] bias = {0, 1, 0, 1}, float[4] ones = {1, 1, 1, 1}, "
    "float[4] zeros = {0, 0, 0, 0}, int64[3] to = {0, 4, -1}> ";
const std::string kInstances = kHead + "{ [norm] y = InstanceNormalization (x, scale, bias) }";
const std::string kGroups =
    kHead + "{ [norm] y = GroupNormalization <num_groups = 4> (x, scale, bias) }";
const std::string kPairs =
    kHead + "{ [norm] y = GroupNormalization <num_groups = 2> (x, scale, bias) }";
// As PyTorch's exporters write four groups.
const std::string kReshaped =
    kHead + "{ r = Reshape (x, to) [norm] y = InstanceNormalization (r, ones, zeros) }";

struct Case {
  std::string model;
  Dims dims;
  const char* refused;
};
const char* const kOfInstance = "element after the channels of each example";
const char* const kOfGroup = "value for each group";
const Case kCases[] = {
    {kInstances, {1, 4, 1}, kOfInstance}, {kInstances, {2, 4, 1}, kOfInstance},
    {kInstances, {1, 4, 2}, nullptr},     {kInstances, {0, 4, 2}, nullptr},
    {kGroups, {1, 4, 1}, kOfGroup},       {kGroups, {2, 4, 1}, nullptr},
    {kGroups, {1, 4, 2}, nullptr},        {kPairs, {1, 4, 1}, nullptr},
    {kReshaped, {1, 4, 1}, kOfGroup},     {kReshaped, {2, 4, 1}, nullptr},
    {kReshaped, {1, 4, 2}, nullptr},
};

absl::Status Run(Model model, const Tensor& x) {
  auto session = Session::Create(std::move(model));
  if (!session.ok()) return session.status();
  return (*session)->Run({{"x", x}}).status();
}

void Check(const Case& each, const std::string& text, const Tensor& x) {
  SCOPED_TRACE(absl::StrCat(text, " ", DimsString(each.dims)));
  const auto model = testing::ModelFromText(text);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE(Run(*model, x).ok());  // in inference
  Model trained = *model;
  ASSERT_TRUE(SetTrainingMode(trained).ok());
  const absl::Status status = Run(trained, x);
  if (each.refused == nullptr) {
    EXPECT_TRUE(status.ok()) << status;
  } else {
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(absl::StrCat("'norm'] expected more than one ", each.refused,
                                       " in training, got the shape ", DimsString(each.dims))));
  }
  ASSERT_TRUE(SetInferenceMode(trained).ok());
  EXPECT_TRUE(Run(trained, x).ok());
  TrainingModeOptions frozen;
  frozen.frozen = {"norm"};
  trained = *model;
  ASSERT_TRUE(SetTrainingMode(trained, frozen).ok());
  EXPECT_TRUE(Run(trained, x).ok());
}

TEST(SeveralValues, AreAskedForWherePyTorchDoes) {
  for (const Case& each : kCases) {
    const Tensor x = Normal(each.dims, 1, 1);
    Check(each, each.model, x);
    Tensor wide(DType::kFloat64, each.dims);
    for (int64_t i = 0; i < x.num_elements(); ++i)
      wide.mutable_data<double>()[i] = x.data<float>()[i];
    Check(each, absl::StrReplaceAll(each.model, {{"float[", "double["}}), wide);
  }
}

// Sizes that the model leaves open are known once there is a batch.
class SeveralValuesInTraining : public testing::TrainerTest {};

TEST_F(SeveralValuesInTraining, TheNodeAndItsShapeAreNamed) {
  GraphBuilder builder("net");
  const auto constant = [&](Dims dims, unsigned seed, const char* name) {
    return builder.Constant(Normal(dims, 0.3, seed), name);
  };
  const Expr image = builder.Input("image", DType::kFloat32, {"batch", 1, kSide, kSide});
  const Expr hidden = Op("Conv", {image, constant({4, 1, kSide, kSide}, 1, "filter")});
  const Expr norm =
      Op("InstanceNormalization", {hidden, constant({4}, 2, "scale"), constant({4}, 3, "shift")});
  builder.Output("logits", Gemm(Op("Flatten", {norm}), constant({4, 3}, 4, "fc.weight")));
  ASSERT_TRUE(ExportFile(*builder.Build(), scratch_.path("mlp.onnx")).ok());
  EXPECT_THAT(
      Error(Config("steps: 2")),
      ::testing::ContainsRegex("\\[InstanceNormalization '.*'\\] expected more than one element "
                               "after the channels of each example in training, got the shape "
                               "\\[16,4,1,1\\]: one value has no variance. Train on larger"));
  EXPECT_EQ(Error(Config("steps: 2 inference_mode: '*'")), "OK");
}

}  // namespace
}  // namespace onward::training
