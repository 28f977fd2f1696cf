#include "kernels/bind/pad.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "kernels/bind/indices.h"
#include "onward/shape.h"

namespace onward::kernels {
namespace {

absl::Status ReadPads(const TensorView& pads, const TensorView* axes, Dims& before, Dims& after) {
  const auto rank = static_cast<int64_t>(before.size());
  const int64_t count = axes == nullptr ? rank : axes->num_elements();
  if (pads.num_elements() != 2 * count) {
    return absl::InvalidArgumentError(
        absl::StrCat("pads has ", pads.num_elements(), " elements for ", count, " axes"));
  }
  for (int64_t i = 0; i < count; ++i) {
    int64_t axis = i;
    if (axes != nullptr) {
      ONWARD_ASSIGN_OR_RETURN(axis, NormalizeAxis(IndexAt(*axes, i), rank));
    }
    before[static_cast<size_t>(axis)] = pads.as<int64_t>()[i];
    after[static_cast<size_t>(axis)] = pads.as<int64_t>()[count + i];
  }
  return absl::OkStatus();
}

absl::StatusOr<PadAxis> AxisOf(PadMode mode, int64_t dim, int64_t before, int64_t after,
                               size_t axis) {
  const std::optional<int64_t> first = CheckedAdd(dim, before);
  const std::optional<int64_t> sum = first ? CheckedAdd(*first, after) : std::nullopt;
  if (!sum || *sum < 0) {
    return absl::InvalidArgumentError(absl::StrCat("pads ", before, " and ", after, " of axis ",
                                                   axis, " do not fit its size ", dim));
  }
  const int64_t cut = std::max<int64_t>(0, -before);
  const int64_t kept = dim - cut + std::min<int64_t>(0, after);
  if (mode != PadMode::kConstant && kept <= 0 && *sum > 0)
    return absl::InvalidArgumentError(absl::StrCat("axis ", axis, " has nothing to repeat"));
  return PadAxis{*sum, cut, std::max<int64_t>(0, kept), std::max<int64_t>(0, before)};
}

}  // namespace

absl::StatusOr<PadMode> ParsePadMode(const NodeSpec& spec) {
  const std::string name = spec.attributes().String("mode", "constant");
  constexpr std::pair<std::string_view, PadMode> kModes[] = {{"constant", PadMode::kConstant},
                                                             {"reflect", PadMode::kReflect},
                                                             {"edge", PadMode::kEdge},
                                                             {"wrap", PadMode::kWrap}};
  for (const auto& [mode_name, mode] : kModes) {
    if (name == mode_name) return mode;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("mode is '", name, "', not constant, reflect, edge or wrap"));
}

absl::StatusOr<std::optional<PadGeometry>> PadDims(const BindContext& context, PadMode mode) {
  const DimsView dims = context.input_dims(0);
  Dims before(dims.size(), 0), after(dims.size(), 0);
  const TensorView* pads = context.input_value(1);
  const TensorView* axes = context.has_input(3) ? context.input_value(3) : nullptr;
  if (pads == nullptr || (context.has_input(3) && axes == nullptr)) return std::nullopt;
  if (context.has_input(2) && NumElements(context.input_dims(2)) != 1)
    return absl::InvalidArgumentError("constant_value must have one element");
  ONWARD_RETURN_IF_ERROR(ReadPads(*pads, axes, before, after));
  PadGeometry geometry;
  for (size_t i = 0; i < dims.size(); ++i) {
    ONWARD_ASSIGN_OR_RETURN(const PadAxis axis, AxisOf(mode, dims[i], before[i], after[i], i));
    geometry.axes.push_back(axis);
    geometry.output.push_back(axis.output);
  }
  ONWARD_RETURN_IF_ERROR(CheckedByteSize(context.input_dtype(0), geometry.output).status());
  return geometry;
}

}  // namespace onward::kernels
