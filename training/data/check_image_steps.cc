#include <cmath>

#include "absl/strings/str_cat.h"
#include "onward/status.h"
#include "training/data/image_steps.h"

namespace onward::training {
namespace {

absl::Status CheckSize(int64_t height, int64_t width) {
  if (height >= 1 && height <= kMaxImageSide && width >= 1 && width <= kMaxImageSide)
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("sizes must be of 1 to ", kMaxImageSide, ", got ", height, " x ", width));
}

absl::Status Need(bool holds, std::string_view what) {
  return holds ? absl::OkStatus()
               : absl::InvalidArgumentError(absl::StrCat("needs ", std::string(what)));
}

absl::Status CheckAffine(const RandomAffineStep& affine) {
  ONWARD_RETURN_IF_ERROR(
      Need(affine.degrees() >= 0 && affine.degrees() <= 180, "degrees of 0 to 180"));
  for (const double share : {affine.translate_x(), affine.translate_y()})
    ONWARD_RETURN_IF_ERROR(Need(share >= 0 && share <= 1, "translate_x and translate_y of 0 to 1"));
  for (const double shear : {affine.shear_x(), affine.shear_y()})
    ONWARD_RETURN_IF_ERROR(Need(shear >= 0 && shear < 90, "shear_x and shear_y of 0 to 90"));
  return Need(affine.least_scale() > 0 && affine.least_scale() <= affine.most_scale() &&
                  std::isfinite(affine.most_scale()),
              "0 < least_scale <= most_scale");
}

absl::Status CheckJitter(const ColorJitterStep& jitter) {
  ONWARD_RETURN_IF_ERROR(Need(jitter.hue() >= 0 && jitter.hue() <= 0.5, "a hue of 0 to 0.5"));
  const float sum = jitter.brightness() + jitter.contrast() + jitter.saturation();
  return Need(jitter.brightness() >= 0 && jitter.contrast() >= 0 && jitter.saturation() >= 0 &&
                  std::isfinite(sum),
              "brightness, contrast and saturation >= 0");
}

// The area and the ratio of a rectangle that is drawn.
template <typename Step>
absl::Status CheckRectangle(const Step& step) {
  ONWARD_RETURN_IF_ERROR(
      Need(step.least_area() > 0 && step.least_area() <= step.most_area() && step.most_area() <= 1,
           "0 < least_area <= most_area <= 1"));
  return Need(step.least_ratio() > 0 && step.least_ratio() <= step.most_ratio() &&
                  std::isfinite(step.most_ratio()),
              "0 < least_ratio <= most_ratio");
}

absl::Status CheckErasing(const RandomErasingStep& erasing) {
  ONWARD_RETURN_IF_ERROR(
      Need(erasing.probability() >= 0 && erasing.probability() <= 1, "a probability of 0 to 1"));
  ONWARD_RETURN_IF_ERROR(CheckRectangle(erasing));
  for (const float value : erasing.value())
    ONWARD_RETURN_IF_ERROR(Need(value >= 0 && value <= 1, "a value of 0 to 1"));
  return Need(erasing.value_size() <= 1 || erasing.value_size() == 3,
              "a value of one number or three");
}

absl::Status CheckStep(const ImageStep& step) {
  switch (step.kind_case()) {
    case ImageStep::kResize:
      if (step.resize().has_shorter())
        return CheckSize(step.resize().shorter(), step.resize().shorter());
      return CheckSize(step.resize().height(), step.resize().width());
    case ImageStep::kRandomCrop:
      ONWARD_RETURN_IF_ERROR(
          Need(step.random_crop().padding() >= 0 && step.random_crop().padding() <= kMaxImageSide,
               "padding >= 0"));
      return CheckSize(step.random_crop().height(), step.random_crop().width());
    case ImageStep::kCenterCrop:
      return CheckSize(step.center_crop().height(), step.center_crop().width());
    case ImageStep::kRandomResizedCrop:
      ONWARD_RETURN_IF_ERROR(CheckRectangle(step.random_resized_crop()));
      return CheckSize(step.random_resized_crop().height(), step.random_resized_crop().width());
    case ImageStep::kFlip:
      return Need(step.flip().probability() >= 0 && step.flip().probability() <= 1,
                  "a probability of 0 to 1");
    case ImageStep::kColorJitter:
      return CheckJitter(step.color_jitter());
    case ImageStep::kRandomAffine:
      return CheckAffine(step.random_affine());
    case ImageStep::kRandomErasing:
      return CheckErasing(step.random_erasing());
    case ImageStep::KIND_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError(
      "is empty: name resize, random_crop, center_crop, random_resized_crop, flip, color_jitter, "
      "random_affine or random_erasing");
}

}  // namespace

absl::Status CheckSteps(const ImageSteps& steps) {
  for (int i = 0; i < steps.size(); ++i) {
    const absl::Status status = CheckStep(steps[i]);
    if (!status.ok()) return Annotate(status, absl::StrCat("step ", i));
  }
  return absl::OkStatus();
}

}  // namespace onward::training
