// Operations on 8-bit images before they become tensors: those of torchvision's
// transforms.functional, on uint8.
#pragma once

#include <cstdint>

#include "absl/types/span.h"
#include "files/image/codec.h"
#include "onward/tensor.h"

namespace onward::training {

using image::Pixels;

// height * width pixels from (top, left) on, which may lie outside: black there.
Pixels Crop(const Pixels& from, int64_t top, int64_t left, int64_t height, int64_t width);
void FlipHorizontally(Pixels& pixels);
void FlipVertically(Pixels& pixels);
// Bilinear, with a filter as wide as the scale where the image shrinks (antialias=True).
Pixels Resize(const Pixels& from, int64_t height, int64_t width);

// About the center of the image, clockwise, in degrees and pixels.
struct AffineMotion {
  double degrees = 0, translate_x = 0, translate_y = 0, scale = 1, shear_x = 0, shear_y = 0;
};
// Black where nothing is. Pixels are sampled as Pillow does, which torchvision uses for images.
Pixels Affine(const Pixels& from, const AffineMotion& motion, bool bilinear);
// Gives a rectangle, which lies inside, one color.
void Fill(Pixels& pixels, int64_t top, int64_t left, int64_t height, int64_t width,
          const uint8_t (&color)[3]);

// factor 0: black; 1: no change.
void AdjustBrightness(Pixels& pixels, float factor);
// factor 0: the mean of the gray image everywhere.
void AdjustContrast(Pixels& pixels, float factor);
// factor 0: the gray image.
void AdjustSaturation(Pixels& pixels, float factor);
// Turns the hue by `turn` of the circle, of [-0.5, 0.5].
void AdjustHue(Pixels& pixels, float turn);

// value[c][x]: what the tensor has for x in channel c.
struct ChannelTable {
  float value[3][256];
};
// (x / 255 - mean) / deviation, by channel.
ChannelTable NormalizedChannels(absl::Span<const float> mean, absl::Span<const float> deviation);
// float32 [3, height, width], or [1, height, width] of the luminance (ITU-R 601, as Pillow's "L")
// by the table's first row.
absl::StatusOr<Tensor> ToTensor(const Pixels& pixels, bool gray, const ChannelTable& table);

}  // namespace onward::training
