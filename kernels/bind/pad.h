// The geometry of Pad.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/functor.h"
#include "onward/kernel.h"

namespace onward::kernels {

enum class PadMode : uint8_t { kConstant, kReflect, kEdge, kWrap };

// Attribute "mode". InvalidArgument: another one.
absl::StatusOr<PadMode> ParsePadMode(const NodeSpec& spec);

// Negative pads cut first: of the input's axis `kept` elements from `cut` on stay, which begin at
// `shift` in the output.
struct PadAxis {
  int64_t output = 0, cut = 0, kept = 0, shift = 0;
};

struct PadGeometry {
  Dims output;
  std::vector<PadAxis> axes;
};

// Inputs data, pads, constant_value, axes; nothing: pads or axes are not known yet.
// InvalidArgument: they do not fit.
absl::StatusOr<std::optional<PadGeometry>> PadDims(const BindContext& context, PadMode mode);

// The position along the input's axis that position `at` of the output's reads; -1: the constant.
ONWARD_HOST_DEVICE inline int64_t PadSource(PadMode mode, const PadAxis& axis, int64_t at) {
  const int64_t size = axis.kept;
  int64_t from = at - axis.shift;
  if (from < 0 || from >= size) {
    if (mode == PadMode::kConstant) return -1;
    if (mode == PadMode::kEdge) {
      from = from < 0 ? 0 : size - 1;
    } else if (mode == PadMode::kWrap) {
      from = (from % size + size) % size;
    } else if (size == 1) {
      from = 0;
    } else {
      const int64_t period = 2 * (size - 1), phase = (from % period + period) % period;
      from = phase < size ? phase : period - phase;
    }
  }
  return from + axis.cut;
}

}  // namespace onward::kernels
