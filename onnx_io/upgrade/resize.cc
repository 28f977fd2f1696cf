#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "onnx_io/upgrade/families.h"

namespace onward::onnx_io {

namespace {

void ScalesToInput(NodeUpgrade& u, const std::vector<float>& scales) {
  u.SetInput(1, u.Constant("scales", Tensor::Of<float>({static_cast<int64_t>(scales.size())},
                                                       absl::MakeConstSpan(scales))));
}

// Opset 1: images only, two scales.
absl::Status UpsampleImageScales(NodeUpgrade& u) {
  const float height = u.attributes().Float("height_scale", 0);
  const float width = u.attributes().Float("width_scale", 0);
  u.attributes().Erase("height_scale");
  u.attributes().Erase("width_scale");
  u.attributes().Set("scales", std::vector<float>{1, 1, height, width});
  return absl::OkStatus();
}

absl::Status UpsampleScalesToInput(NodeUpgrade& u) {
  ScalesToInput(u, u.attributes().Floats("scales"));
  u.attributes().Erase("scales");
  return absl::OkStatus();
}

// Upsample became Resize in opset 10, whose newer form this is. It only enlarges, so that its
// nearest pixel is the one below in every dim. Models that still use it in later opsets mean the
// same.
absl::Status UpsampleToResize(NodeUpgrade& u) {
  u.node.op_type = "Resize";
  if (u.attributes().String("mode") == "bilinear") u.attributes().Set("mode", "linear");
  u.attributes().Set("coordinate_transformation_mode", "asymmetric");
  u.attributes().Set("nearest_mode", "floor");
  u.SetInput(2, u.input(1));
  u.SetInput(1, {});
  return absl::OkStatus();
}

// Opset 10 had one transformation of coordinates, no `roi`, and took the nearest pixel below where
// it enlarges and the one above where it shrinks. Nearest pixels are found dim by dim, so that the
// two may follow each other.
absl::Status ResizeAsymmetric(NodeUpgrade& u) {
  const ValueId scales = u.input(1);
  const bool nearest = u.attributes().String("mode", "nearest") == "nearest";
  u.attributes().Set("coordinate_transformation_mode", "asymmetric");
  u.SetInput(1, {});
  u.SetInput(2, scales);
  if (!nearest) return absl::OkStatus();
  const ValueId one = u.Constant("one", Tensor::Scalar<float>(1));
  Attributes enlarge = u.attributes();
  enlarge.Set("nearest_mode", "floor");
  u.SetInput(0, u.Add("Resize", {u.input(0), {}, u.Add("Max", {scales, one})}, enlarge));
  u.SetInput(2, u.Add("Min", {scales, one}));
  u.attributes().Set("nearest_mode", "ceil");
  return absl::OkStatus();
}

// The mode that opset 13 lost had a coordinate half a pixel above that of half_pixel; the rounding
// takes the half.
absl::Status HalfPixelForNearest(NodeUpgrade& u) {
  const std::string rounding = u.attributes().String("nearest_mode", "round_prefer_floor");
  std::string equivalent;
  if (rounding == "floor") equivalent = "round_prefer_ceil";
  if (rounding == "round_prefer_floor") equivalent = "ceil";
  if (u.attributes().String("mode", "nearest") != "nearest" || equivalent.empty()) {
    return absl::UnimplementedError(
        absl::StrCat("coordinate_transformation_mode tf_half_pixel_for_nn with mode ",
                     u.attributes().String("mode", "nearest"), " and nearest_mode ", rounding,
                     " has no equivalent in later opsets"));
  }
  u.attributes().Set("coordinate_transformation_mode", "half_pixel");
  u.attributes().Set("nearest_mode", equivalent);
  return absl::OkStatus();
}

bool KnownEmpty(const NodeUpgrade& u, ValueId value) {
  if (!value.valid()) return true;
  const auto& shape = u.graph().type(value).shape;
  return shape && shape->size() == 1 && (*shape)[0].known() && (*shape)[0].value() == 0;
}

// Since opset 13 inputs that are not needed are left out; opset 11 wanted empty tensors.
absl::Status ResizeOmitEmptyInputs(NodeUpgrade& u) {
  const std::string mode = u.attributes().String("coordinate_transformation_mode", "half_pixel");
  if (mode != "tf_crop_and_resize" && u.input(1).valid()) u.SetInput(1, {});
  if (u.input(3).valid() && KnownEmpty(u, u.input(3))) u.SetInput(3, {});
  if (u.input(3).valid() && u.input(2).valid()) u.SetInput(2, {});
  return mode == "tf_half_pixel_for_nn" ? HalfPixelForNearest(u) : absl::OkStatus();
}

absl::Status RoiAlignPixels(NodeUpgrade& u) {
  u.attributes().Set("coordinate_transformation_mode", "output_half_pixel");
  return absl::OkStatus();
}

// Opset 20 takes volumes, too, and renames the modes.
absl::Status GridSampleModes(NodeUpgrade& u) {
  const std::string mode = u.attributes().String("mode", "bilinear");
  if (mode == "bilinear") u.attributes().Set("mode", "linear");
  if (mode == "bicubic") u.attributes().Set("mode", "cubic");
  return absl::OkStatus();
}

}  // namespace

UpgradeRules ResizeUpgrades() {
  return {{"", "Upsample", 7, UpsampleImageScales},  {"", "Upsample", 9, UpsampleScalesToInput},
          {"", "Upsample", 11, UpsampleToResize},    {"", "Resize", 11, ResizeAsymmetric},
          {"", "Resize", 13, ResizeOmitEmptyInputs}, {"", "RoiAlign", 16, RoiAlignPixels},
          {"", "GridSample", 20, GridSampleModes}};
}

}  // namespace onward::onnx_io
