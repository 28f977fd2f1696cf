#include "training/data/image_steps.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "kernels/philox.h"
#include "onward/status.h"

namespace onward::training {
namespace {

// Numbers in [0, 1), one after the other.
class Draws {
 public:
  explicit Draws(uint64_t seed) : seed_(seed) {}
  double Uniform() {
    const kernels::RandomBlock block = kernels::Philox({seed_, 0x494d4147, 0}, count_++);
    return kernels::UniformDouble(block.word[0], block.word[1]);
  }
  double Uniform(double low, double high) { return low + (high - low) * Uniform(); }
  int64_t Below(int64_t end) {
    return std::min(end - 1, static_cast<int64_t>(Uniform() * static_cast<double>(end)));
  }

 private:
  uint64_t seed_;
  uint64_t count_ = 0;
};

absl::StatusOr<Pixels> Run(const ResizeStep& step, Pixels pixels, Draws&) {
  if (!step.has_shorter()) return Resize(pixels, step.height(), step.width());
  const int64_t shorter = step.shorter();
  const bool tall = pixels.height > pixels.width;
  const int64_t from = tall ? pixels.width : pixels.height;
  const int64_t longer = shorter * (tall ? pixels.height : pixels.width) / from;
  if (longer > kMaxImageSide) return absl::InvalidArgumentError("the resized image is too long");
  return Resize(pixels, tall ? longer : shorter, tall ? shorter : longer);
}

absl::StatusOr<Pixels> Run(const RandomCropStep& step, Pixels pixels, Draws& draws) {
  const int64_t rows = pixels.height + 2 * step.padding() - step.height();
  const int64_t columns = pixels.width + 2 * step.padding() - step.width();
  if (rows < 0 || columns < 0) {
    return absl::InvalidArgumentError(absl::StrCat("an image of ", pixels.height, " x ",
                                                   pixels.width, " is too small for ",
                                                   step.height(), " x ", step.width()));
  }
  const int64_t top = draws.Below(rows + 1), left = draws.Below(columns + 1);
  return Crop(pixels, top - step.padding(), left - step.padding(), step.height(), step.width());
}

absl::StatusOr<Pixels> Run(const CenterCropStep& step, Pixels pixels, Draws&) {
  // Half of an odd margin goes to the even side, as Python rounds.
  const auto begin = [](int64_t from, int64_t to) {
    return from < to ? -((to - from) / 2)
                     : static_cast<int64_t>(std::nearbyint(static_cast<double>(from - to) / 2));
  };
  return Crop(pixels, begin(pixels.height, step.height()), begin(pixels.width, step.width()),
              step.height(), step.width());
}

// Sides of a rectangle with a share of the image and a ratio that the step draws.
struct Sides {
  int64_t longer, shorter;  // where the ratio is above 1
};
template <typename Step>
Sides DrawSides(const Step& step, const Pixels& pixels, Draws& draws) {
  const double whole = static_cast<double>(pixels.height) * static_cast<double>(pixels.width);
  const double area = whole * draws.Uniform(step.least_area(), step.most_area());
  const double ratio =
      std::exp(draws.Uniform(std::log(step.least_ratio()), std::log(step.most_ratio())));
  return {std::llround(std::sqrt(area * ratio)), std::llround(std::sqrt(area / ratio))};
}

absl::StatusOr<Pixels> Run(const RandomResizedCropStep& step, Pixels pixels, Draws& draws) {
  const auto whole_height = static_cast<double>(pixels.height);
  const auto whole_width = static_cast<double>(pixels.width);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const auto [width, height] = DrawSides(step, pixels, draws);
    if (width < 1 || width > pixels.width || height < 1 || height > pixels.height) continue;
    const int64_t top = draws.Below(pixels.height - height + 1);
    const int64_t left = draws.Below(pixels.width - width + 1);
    return Resize(Crop(pixels, top, left, height, width), step.height(), step.width());
  }
  int64_t width = pixels.width, height = pixels.height;
  const double ratio = whole_width / whole_height;
  if (ratio < step.least_ratio()) height = std::llround(whole_width / step.least_ratio());
  if (ratio > step.most_ratio()) width = std::llround(whole_height * step.most_ratio());
  return Resize(Crop(pixels, (pixels.height - height) / 2, (pixels.width - width) / 2,
                     std::max<int64_t>(height, 1), std::max<int64_t>(width, 1)),
                step.height(), step.width());
}

absl::StatusOr<Pixels> Run(const FlipStep& step, Pixels pixels, Draws& draws) {
  if (draws.Uniform() >= step.probability()) return pixels;
  step.vertical() ? FlipVertically(pixels) : FlipHorizontally(pixels);
  return pixels;
}

absl::StatusOr<Pixels> Run(const ColorJitterStep& step, Pixels pixels, Draws& draws) {
  struct Part {
    float range, center;
    void (*adjust)(Pixels&, float);
  };
  Part parts[] = {{step.brightness(), 1, AdjustBrightness},
                  {step.contrast(), 1, AdjustContrast},
                  {step.saturation(), 1, AdjustSaturation},
                  {step.hue(), 0, AdjustHue}};
  for (size_t i = 4; i > 1; --i)
    std::swap(parts[i - 1], parts[draws.Below(static_cast<int64_t>(i))]);
  for (const Part& part : parts) {
    if (part.range == 0) continue;
    const float low = part.center - part.range;
    const double factor =
        draws.Uniform(part.center == 0 ? low : std::max(0.0f, low), part.center + part.range);
    part.adjust(pixels, static_cast<float>(factor));
  }
  return pixels;
}

absl::StatusOr<Pixels> Run(const RandomAffineStep& step, Pixels pixels, Draws& draws) {
  const auto around_zero = [&](double most) { return most == 0 ? 0 : draws.Uniform(-most, most); };
  AffineMotion motion;
  motion.degrees = around_zero(step.degrees());
  motion.translate_x =
      std::nearbyint(around_zero(step.translate_x() * static_cast<double>(pixels.width)));
  motion.translate_y =
      std::nearbyint(around_zero(step.translate_y() * static_cast<double>(pixels.height)));
  motion.scale = draws.Uniform(step.least_scale(), step.most_scale());
  motion.shear_x = around_zero(step.shear_x());
  motion.shear_y = around_zero(step.shear_y());
  return Affine(pixels, motion, step.interpolation() == RandomAffineStep::BILINEAR);
}

absl::StatusOr<Pixels> Run(const RandomErasingStep& step, Pixels pixels, Draws& draws) {
  if (draws.Uniform() >= step.probability()) return pixels;
  uint8_t color[3] = {};
  for (int c = 0; c < 3 && step.value_size() > 0; ++c) {
    const float value = step.value(std::min(c, step.value_size() - 1));
    color[c] = static_cast<uint8_t>(std::lround(255 * std::clamp(value, 0.0f, 1.0f)));
  }
  for (int attempt = 0; attempt < 10; ++attempt) {
    const auto [height, width] = DrawSides(step, pixels, draws);
    if (height >= pixels.height || width >= pixels.width) continue;
    const int64_t top = draws.Below(pixels.height - height + 1);
    const int64_t left = draws.Below(pixels.width - width + 1);
    Fill(pixels, top, left, height, width, color);
    break;
  }
  return pixels;
}

absl::StatusOr<Pixels> RunStep(const ImageStep& step, Pixels pixels, Draws& draws) {
  switch (step.kind_case()) {
    case ImageStep::kResize:
      return Run(step.resize(), std::move(pixels), draws);
    case ImageStep::kRandomCrop:
      return Run(step.random_crop(), std::move(pixels), draws);
    case ImageStep::kCenterCrop:
      return Run(step.center_crop(), std::move(pixels), draws);
    case ImageStep::kRandomResizedCrop:
      return Run(step.random_resized_crop(), std::move(pixels), draws);
    case ImageStep::kFlip:
      return Run(step.flip(), std::move(pixels), draws);
    case ImageStep::kColorJitter:
      return Run(step.color_jitter(), std::move(pixels), draws);
    case ImageStep::kRandomAffine:
      return Run(step.random_affine(), std::move(pixels), draws);
    case ImageStep::kRandomErasing:
      return Run(step.random_erasing(), std::move(pixels), draws);
    case ImageStep::KIND_NOT_SET:
      break;
  }
  return pixels;
}

}  // namespace

std::optional<std::pair<int64_t, int64_t>> SizeAfter(const ImageSteps& steps) {
  std::optional<std::pair<int64_t, int64_t>> size;
  for (const ImageStep& step : steps) {
    if (step.has_resize() && step.resize().has_shorter()) {
      size.reset();
    } else if (step.has_resize()) {
      size = {step.resize().height(), step.resize().width()};
    } else if (step.has_random_crop()) {
      size = {step.random_crop().height(), step.random_crop().width()};
    } else if (step.has_center_crop()) {
      size = {step.center_crop().height(), step.center_crop().width()};
    } else if (step.has_random_resized_crop()) {
      size = {step.random_resized_crop().height(), step.random_resized_crop().width()};
    }
  }
  return size;
}

absl::StatusOr<Pixels> Apply(const ImageSteps& steps, Pixels pixels, uint64_t random) {
  Draws draws(random);
  for (const ImageStep& step : steps) {
    ONWARD_ASSIGN_OR_RETURN(pixels, RunStep(step, std::move(pixels), draws));
  }
  return pixels;
}

}  // namespace onward::training
