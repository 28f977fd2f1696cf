#include "training/data/pixels.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "onward/status.h"

namespace onward::training {
namespace {

Pixels Blank(int64_t height, int64_t width) {
  return {height, width, std::vector<uint8_t>(static_cast<size_t>(3 * height * width))};
}

uint8_t Clamp(float value) { return static_cast<uint8_t>(std::clamp(value, 0.0f, 255.0f)); }

uint8_t Gray(const uint8_t* rgb) {
  return static_cast<uint8_t>(0.2989f * rgb[0] + 0.587f * rgb[1] + 0.114f * rgb[2]);
}

// The source pixels that one target pixel is a weighted mean of.
struct Taps {
  int64_t first = 0;
  std::vector<float> weights;
};

std::vector<Taps> BilinearTaps(int64_t from, int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double support = std::max(scale, 1.0);
  std::vector<Taps> taps(static_cast<size_t>(to));
  for (int64_t i = 0; i < to; ++i) {
    Taps& tap = taps[static_cast<size_t>(i)];
    const double center = scale * (static_cast<double>(i) + 0.5);
    tap.first = std::max<int64_t>(0, static_cast<int64_t>(center - support + 0.5));
    const int64_t end = std::min(from, static_cast<int64_t>(center + support + 0.5));
    double sum = 0;
    for (int64_t x = tap.first; x < end; ++x) {
      const double weight =
          std::max(0.0, 1 - std::abs(static_cast<double>(x) - center + 0.5) / support);
      tap.weights.push_back(static_cast<float>(weight));
      sum += weight;
    }
    for (float& weight : tap.weights) weight = static_cast<float>(weight / sum);
  }
  return taps;
}

struct Hsv {
  float hue, saturation, value;
};

Hsv ToHsv(const uint8_t* rgb) {
  const float r = rgb[0] / 255.0f, g = rgb[1] / 255.0f, b = rgb[2] / 255.0f;
  const float high = std::max({r, g, b}), low = std::min({r, g, b});
  const float range = high - low;
  if (range == 0) return {0, 0, high};
  const float red = (high - r) / range, green = (high - g) / range, blue = (high - b) / range;
  float hue = high == r ? blue - green : high == g ? 2 + red - blue : 4 + green - red;
  hue = hue / 6 + 1;
  return {hue - std::floor(hue), range / high, high};
}

void FromHsv(const Hsv& hsv, uint8_t* rgb) {
  const float sixth = hsv.hue * 6;
  const float whole = std::floor(sixth);
  const float part = sixth - whole;
  const float v = hsv.value, s = hsv.saturation;
  const float p = std::clamp(v * (1 - s), 0.0f, 1.0f);
  const float q = std::clamp(v * (1 - s * part), 0.0f, 1.0f);
  const float t = std::clamp(v * (1 - s * (1 - part)), 0.0f, 1.0f);
  const float table[6][3] = {{v, t, p}, {q, v, p}, {p, v, t}, {p, q, v}, {t, p, v}, {v, p, q}};
  const float* row = table[static_cast<int>(whole) % 6];
  for (int c = 0; c < 3; ++c) rgb[c] = static_cast<uint8_t>(row[c] * 255.999f);
}

// From a pixel of the result to the place in the source: x = m[0] x + m[1] y + m[2], y likewise
// (torchvision's _get_inverse_affine_matrix).
struct InverseMatrix {
  double m[6];
};

InverseMatrix Inverted(const AffineMotion& motion, double center_x, double center_y) {
  const double radians = std::acos(-1.0) / 180;
  const double turn = motion.degrees * radians;
  const double shear_x = motion.shear_x * radians, shear_y = motion.shear_y * radians;
  const double a = std::cos(turn - shear_y) / std::cos(shear_y);
  const double b = -a * std::tan(shear_x) - std::sin(turn);
  const double c = std::sin(turn - shear_y) / std::cos(shear_y);
  const double d = -c * std::tan(shear_x) + std::cos(turn);
  const double x = center_x + motion.translate_x, y = center_y + motion.translate_y;
  InverseMatrix inverse = {{d, -b, 0, -c, a, 0}};
  for (double& each : inverse.m) each /= motion.scale;
  inverse.m[2] = center_x - inverse.m[0] * x - inverse.m[1] * y;
  inverse.m[5] = center_y - inverse.m[3] * x - inverse.m[4] * y;
  return inverse;
}

// The weighted mean of the four pixels around a place inside the image; those at the border stand
// for what is outside.
void SampleBilinear(const Pixels& from, double x, double y, uint8_t* to) {
  const double left = std::floor(x - 0.5), top = std::floor(y - 0.5);
  const double right_share = x - 0.5 - left, low_share = y - 0.5 - top;
  const auto pixel = [&](double row, double column) {
    const auto r = std::clamp<int64_t>(static_cast<int64_t>(row), 0, from.height - 1);
    const auto c = std::clamp<int64_t>(static_cast<int64_t>(column), 0, from.width - 1);
    return from.rgb.data() + 3 * (r * from.width + c);
  };
  const uint8_t* corners[4] = {pixel(top, left), pixel(top, left + 1), pixel(top + 1, left),
                               pixel(top + 1, left + 1)};
  for (int i = 0; i < 3; ++i) {
    const double high = corners[0][i] + (corners[1][i] - corners[0][i]) * right_share;
    const double low = corners[2][i] + (corners[3][i] - corners[2][i]) * right_share;
    to[i] = static_cast<uint8_t>(high + (low - high) * low_share);
  }
}

}  // namespace

Pixels Affine(const Pixels& from, const AffineMotion& motion, bool bilinear) {
  const auto width = static_cast<double>(from.width), height = static_cast<double>(from.height);
  const InverseMatrix inverse = Inverted(motion, width / 2, height / 2);
  Pixels to = Blank(from.height, from.width);
  uint8_t* out = to.rgb.data();
  for (int64_t row = 0; row < to.height; ++row) {
    for (int64_t column = 0; column < to.width; ++column, out += 3) {
      const double at_x = static_cast<double>(column) + 0.5, at_y = static_cast<double>(row) + 0.5;
      const double x = inverse.m[0] * at_x + inverse.m[1] * at_y + inverse.m[2];
      const double y = inverse.m[3] * at_x + inverse.m[4] * at_y + inverse.m[5];
      if (!(x >= 0 && x < width && y >= 0 && y < height)) continue;
      if (bilinear) {
        SampleBilinear(from, x, y, out);
      } else {
        std::memcpy(
            out,
            from.rgb.data() + 3 * (static_cast<int64_t>(y) * from.width + static_cast<int64_t>(x)),
            3);
      }
    }
  }
  return to;
}

void Fill(Pixels& pixels, int64_t top, int64_t left, int64_t height, int64_t width,
          const uint8_t (&color)[3]) {
  for (int64_t row = top; row < top + height; ++row) {
    uint8_t* out = pixels.rgb.data() + 3 * (row * pixels.width + left);
    for (int64_t column = 0; column < width; ++column, out += 3) std::memcpy(out, color, 3);
  }
}

Pixels Crop(const Pixels& from, int64_t top, int64_t left, int64_t height, int64_t width) {
  Pixels to = Blank(height, width);
  const int64_t begin = std::clamp<int64_t>(-left, 0, width);
  const int64_t end = std::clamp<int64_t>(from.width - left, begin, width);
  for (int64_t y = 0; y < height; ++y) {
    if (y + top < 0 || y + top >= from.height || end == begin) continue;
    std::memcpy(&to.rgb[static_cast<size_t>(3 * (y * width + begin))],
                &from.rgb[static_cast<size_t>(3 * ((y + top) * from.width + left + begin))],
                static_cast<size_t>(3 * (end - begin)));
  }
  return to;
}

void FlipHorizontally(Pixels& pixels) {
  for (int64_t y = 0; y < pixels.height; ++y) {
    uint8_t* row = pixels.rgb.data() + 3 * y * pixels.width;
    for (int64_t x = 0; x < pixels.width / 2; ++x)
      std::swap_ranges(row + 3 * x, row + 3 * x + 3, row + 3 * (pixels.width - 1 - x));
  }
}

void FlipVertically(Pixels& pixels) {
  const int64_t stride = 3 * pixels.width;
  for (int64_t y = 0; y < pixels.height / 2; ++y) {
    uint8_t* row = pixels.rgb.data() + y * stride;
    std::swap_ranges(row, row + stride, pixels.rgb.data() + (pixels.height - 1 - y) * stride);
  }
}

Pixels Resize(const Pixels& from, int64_t height, int64_t width) {
  if (from.height == height && from.width == width) return from;
  const std::vector<Taps> columns = BilinearTaps(from.width, width);
  const std::vector<Taps> rows = BilinearTaps(from.height, height);
  const auto stride = static_cast<size_t>(3 * width);
  std::vector<float> wide(static_cast<size_t>(from.height) * stride);
  for (int64_t y = 0; y < from.height; ++y) {
    float* out = wide.data() + static_cast<size_t>(y) * stride;
    for (const Taps& taps : columns) {
      const uint8_t* in = from.rgb.data() + 3 * (y * from.width + taps.first);
      for (const float weight : taps.weights)
        for (size_t c = 0; c < 3; ++c) out[c] += weight * *in++;
      out += 3;
    }
  }
  Pixels to = Blank(height, width);
  std::vector<float> sum(stride);
  for (int64_t y = 0; y < height; ++y) {
    const Taps& taps = rows[static_cast<size_t>(y)];
    std::fill(sum.begin(), sum.end(), 0.5f);
    for (size_t i = 0; i < taps.weights.size(); ++i) {
      const float* in = wide.data() + (static_cast<size_t>(taps.first) + i) * stride;
      for (size_t x = 0; x < stride; ++x) sum[x] += taps.weights[i] * in[x];
    }
    uint8_t* out = to.rgb.data() + static_cast<size_t>(y) * stride;
    for (size_t x = 0; x < stride; ++x) out[x] = Clamp(sum[x]);
  }
  return to;
}

void AdjustBrightness(Pixels& pixels, float factor) {
  for (uint8_t& x : pixels.rgb) x = Clamp(factor * x);
}

void AdjustContrast(Pixels& pixels, float factor) {
  int64_t sum = 0;
  for (size_t i = 0; i < pixels.rgb.size(); i += 3) sum += Gray(&pixels.rgb[i]);
  const double count = static_cast<double>(pixels.rgb.size()) / 3;
  const auto mean = static_cast<float>(static_cast<double>(sum) / count);
  for (uint8_t& x : pixels.rgb) x = Clamp(factor * x + (1 - factor) * mean);
}

void AdjustSaturation(Pixels& pixels, float factor) {
  for (size_t i = 0; i < pixels.rgb.size(); i += 3) {
    const float gray = (1 - factor) * Gray(&pixels.rgb[i]);
    for (size_t c = i; c < i + 3; ++c) pixels.rgb[c] = Clamp(factor * pixels.rgb[c] + gray);
  }
}

void AdjustHue(Pixels& pixels, float turn) {
  for (size_t i = 0; i < pixels.rgb.size(); i += 3) {
    Hsv hsv = ToHsv(&pixels.rgb[i]);
    hsv.hue += turn;
    hsv.hue -= std::floor(hsv.hue);
    FromHsv(hsv, &pixels.rgb[i]);
  }
}

ChannelTable NormalizedChannels(absl::Span<const float> mean, absl::Span<const float> deviation) {
  ChannelTable table;
  for (size_t c = 0; c < 3; ++c) {
    const float shift = mean.empty() ? 0 : mean[std::min(c, mean.size() - 1)];
    const float scale = deviation.empty() ? 1 : deviation[std::min(c, deviation.size() - 1)];
    for (int x = 0; x < 256; ++x)
      table.value[c][x] = (static_cast<float>(x) / 255.0f - shift) / scale;
  }
  return table;
}

absl::StatusOr<Tensor> ToTensor(const Pixels& pixels, bool gray, const ChannelTable& table) {
  const Dims dims{gray ? 1 : 3, pixels.height, pixels.width};
  ONWARD_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(DType::kFloat32, dims));
  auto* to = tensor.mutable_data<float>();
  const size_t count = pixels.rgb.size() / 3;
  const uint8_t* rgb = pixels.rgb.data();
  for (size_t i = 0; i < count; ++i, rgb += 3) {
    if (gray) {
      const uint32_t sum = rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 0x8000u;
      to[i] = table.value[0][sum >> 16];
    } else {
      for (size_t c = 0; c < 3; ++c) to[c * count + i] = table.value[c][rgb[c]];
    }
  }
  return tensor;
}

}  // namespace onward::training
