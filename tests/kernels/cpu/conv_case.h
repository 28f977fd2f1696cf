// Random convolutions with expected outputs that are sums in double.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/fast_kernels.h"

namespace onward::kernels {

// A way to draw operands: pairs of bfloat16 are multiplied without error.
using DrawTensor = Tensor (*)(DimsView dims, std::mt19937& random);
inline Tensor AnyFloats(DimsView dims, std::mt19937& random) {
  return testing::RandomFloats(dims, random);
}

inline int64_t Draw(std::mt19937& random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

struct Window {
  int64_t kernel[2], stride[2], dilation[2], begin[2], end[2];
};

inline int64_t OutputLength(const Window& w, int axis, int64_t input) {
  return (input + w.begin[axis] + w.end[axis] - (w.kernel[axis] - 1) * w.dilation[axis] - 1) /
             w.stride[axis] +
         1;
}

// [N, C, H, W] as [N, H, W, C], in float32.
inline Tensor Last(const Tensor& x) {
  const DimsView dims = x.dims();
  const int64_t channels = dims[1], pixels = dims[2] * dims[3];
  Tensor last(DType::kFloat32, Dims{dims[0], dims[2], dims[3], channels});
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    const int64_t image = i / pixels / channels, channel = i / pixels % channels;
    last.mutable_data<float>()[(image * pixels + i % pixels) * channels + channel] =
        x.data<float>()[i];
  }
  return last;
}

// x [N, C, H, W], w [M, C / group, kh, kw].
inline Tensor Convolve(const Tensor& x, const Tensor& w, const Tensor& bias, int64_t group,
                       const Window& window) {
  const DimsView xd = x.dims(), wd = w.dims();
  const int64_t oh = OutputLength(window, 0, xd[2]), ow = OutputLength(window, 1, xd[3]);
  const int64_t per_group = wd[0] / group;
  Tensor y(DType::kFloat32, {xd[0], wd[0], oh, ow});
  float* to = y.mutable_data<float>();
  for (int64_t n = 0; n < xd[0]; ++n) {
    for (int64_t m = 0; m < wd[0]; ++m) {
      for (int64_t p = 0; p < oh * ow; ++p, ++to) {
        double sum = bias.empty() ? 0 : static_cast<double>(bias.data<float>()[m]);
        for (int64_t c = 0; c < wd[1]; ++c) {
          for (int64_t t = 0; t < wd[2] * wd[3]; ++t) {
            const int64_t ih =
                p / ow * window.stride[0] - window.begin[0] + t / wd[3] * window.dilation[0];
            const int64_t iw =
                p % ow * window.stride[1] - window.begin[1] + t % wd[3] * window.dilation[1];
            if (ih < 0 || iw < 0 || ih >= xd[2] || iw >= xd[3]) continue;
            const int64_t channel = m / per_group * wd[1] + c;
            sum += static_cast<double>(
                       x.data<float>()[((n * xd[1] + channel) * xd[2] + ih) * xd[3] + iw]) *
                   static_cast<double>(w.data<float>()[(m * wd[1] + c) * wd[2] * wd[3] + t]);
          }
        }
        *to = static_cast<float>(sum);
      }
    }
  }
  return y;
}

inline Attributes AttributesOf(const Window& w, int64_t group) {
  using Ints = std::vector<int64_t>;
  return {{"group", group},
          {"kernel_shape", Ints{w.kernel[0], w.kernel[1]}},
          {"strides", Ints{w.stride[0], w.stride[1]}},
          {"dilations", Ints{w.dilation[0], w.dilation[1]}},
          {"pads", Ints{w.begin[0], w.begin[1], w.end[0], w.end[1]}}};
}

inline std::string Describe(const cases::OpCase& c, const Window& w, int64_t group) {
  return absl::StrCat(DimsString(c.inputs[0].dims()), " * ", DimsString(c.inputs[1].dims()),
                      " group ", group, " stride ", w.stride[0], ",", w.stride[1], " dilation ",
                      w.dilation[0], ",", w.dilation[1], " pads ", w.begin[0], ",", w.begin[1], ",",
                      w.end[0], ",", w.end[1]);
}

inline cases::OpCase ConvCase(int64_t batch, int64_t group, int64_t channels, int64_t filters,
                              int64_t h, int64_t w, const Window& window, bool bias,
                              std::mt19937& random, DrawTensor draw = AnyFloats) {
  cases::OpCase c;
  c.op = "Conv";
  c.atol = 2e-5;
  c.attributes = AttributesOf(window, group);
  c.inputs = {draw({batch, group * channels, h, w}, random),
              draw({group * filters, channels, window.kernel[0], window.kernel[1]}, random),
              bias ? testing::RandomFloats({group * filters}, random) : Tensor()};
  c.expected = {Convolve(c.inputs[0], c.inputs[1], c.inputs[2], group, window)};
  c.name = Describe(c, window, group);
  return c;
}

inline Window RandomWindow(std::mt19937& random) {
  Window w;
  for (int i = 0; i < 2; ++i) {
    w.kernel[i] = Draw(random, 1, 5);
    w.stride[i] = Draw(random, 1, 4);
    w.dilation[i] = Draw(random, 1, 2);
    w.begin[i] = Draw(random, 0, 3);
    w.end[i] = Draw(random, 0, 3);
  }
  return w;
}

}  // namespace onward::kernels
