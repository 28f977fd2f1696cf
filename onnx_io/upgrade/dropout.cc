#include "onnx_io/upgrade/families.h"

namespace onward::onnx_io {

namespace {

void RatioToInput(NodeUpgrade& u) {
  if (!u.Has("ratio")) return;
  u.SetInput(1, u.Constant("ratio", Tensor::Scalar<float>(u.attributes().Float("ratio", 0.5f))));
  u.attributes().Erase("ratio");
}

// Until opset 7 a zero `is_test`, the default, meant training.
absl::Status IsTestToTrainingMode(NodeUpgrade& u) {
  const bool training = u.attributes().Int("is_test", 0) == 0;
  u.attributes().Erase("is_test");
  if (!training) return absl::OkStatus();
  RatioToInput(u);
  u.SetInput(2, u.Constant("training_mode", Tensor::Scalar<bool>(true)));
  return absl::OkStatus();
}

// Until opset 10 the mask had the dtype of the data.
absl::Status MaskLikeData(NodeUpgrade& u) {
  if (!u.output(1).valid()) return absl::OkStatus();
  const ValueId mask = u.TakeOutput(1);
  u.AddAs(mask, "CastLike", {u.output(1), u.input(0)});
  return absl::OkStatus();
}

absl::Status RatioAttributeToInput(NodeUpgrade& u) {
  RatioToInput(u);
  return absl::OkStatus();
}

}  // namespace

UpgradeRules DropoutUpgrades() {
  return {{"", "Dropout", 6, DropConsumedInputs},
          {"", "Dropout", 7, IsTestToTrainingMode},
          {"", "Dropout", 10, MaskLikeData},
          {"", "Dropout", 12, RatioAttributeToInput}};
}

}  // namespace onward::onnx_io
