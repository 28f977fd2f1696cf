// Windows that slide over the spatial axes of a tensor [N, C, d1, d2, ...]: what Conv,
// ConvTranspose, DeformConv and the pools have in common.
#pragma once

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "onward/kernel.h"
#include "onward/shape.h"

namespace onward::kernels {

enum class AutoPad : uint8_t { kNotSet, kValid, kSameUpper, kSameLower };

// The attributes as written; an absent list is empty. `pads` holds the begins of all axes, then the
// ends.
struct WindowAttributes {
  AutoPad auto_pad = AutoPad::kNotSet;
  Dims kernel;
  Dims strides;
  Dims dilations;
  Dims pads;
  bool ceil_mode = false;

  // InvalidArgument: an unknown auto_pad, lists of unequal lengths, non-positive kernel, stride or
  // dilation, negative padding.
  static absl::StatusOr<WindowAttributes> Parse(const NodeSpec& spec);
};

// One spatial axis. Output o reads inputs o * stride + k * dilation - pad_begin for k in [0,
// kernel).
struct WindowAxis {
  int64_t input = 0;
  int64_t output = 0;
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t pad_begin = 0;
  int64_t pad_end = 0;

  int64_t extent() const { return (kernel - 1) * dilation + 1; }
  int64_t start(int64_t o) const { return o * stride - pad_begin; }
  // The taps [first, last) of the window at `start` that lie inside the input.
  int64_t first_tap(int64_t start) const {
    const int64_t first = start >= 0 ? 0 : (-start + dilation - 1) / dilation;
    return first < kernel ? first : kernel;
  }
  int64_t last_tap(int64_t start) const {
    const int64_t last = start >= input ? 0 : (input - start + dilation - 1) / dilation;
    return last < kernel ? last : kernel;
  }
};
using WindowAxes = absl::InlinedVector<WindowAxis, 3>;

// Products of the axes' sizes.
int64_t InputSize(const WindowAxes& axes);
int64_t OutputSize(const WindowAxes& axes);
int64_t KernelSize(const WindowAxes& axes);

// The outputs [begin, end) of an axis whose tap `k` lies inside the input.
void OutputsOfTap(const WindowAxis& axis, int64_t k, int64_t* begin, int64_t* end);

// The axes for inputs of spatial size `input` and windows of size `kernel` (which replaces
// attributes.kernel). InvalidArgument: ranks that differ from the attributes', a window larger than
// the padded input.
absl::StatusOr<WindowAxes> ResolveWindow(const WindowAttributes& attributes, DimsView input,
                                         DimsView kernel);

}  // namespace onward::kernels
