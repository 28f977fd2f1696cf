#include "kernels/bind/col2im.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "onward/shape.h"

namespace onward::kernels {
namespace {

// Fills what the attributes say of axis i of `axes`, and its columns; false where the block does
// not fit.
bool PlaceBlocks(const Col2ImAttributes& attributes, size_t i, size_t axes, Col2ImAxis& axis) {
  constexpr int64_t kLargest = int64_t{1} << 60;  // of each, so that sums do not overflow
  if (!attributes.dilations.empty()) axis.dilation = attributes.dilations[i];
  if (!attributes.strides.empty()) axis.stride = attributes.strides[i];
  if (!attributes.pads.empty()) axis.pad = attributes.pads[i];
  const int64_t end = attributes.pads.empty() ? 0 : attributes.pads[i + axes];
  for (const int64_t number : {axis.image, axis.pad, end}) {
    if (number < -kLargest || number > kLargest) return false;
  }
  if (axis.image < 0 || axis.block < 1 || axis.stride < 1 || axis.dilation < 1) return false;
  const std::optional<int64_t> reach = CheckedMul(axis.dilation, axis.block - 1);
  if (!reach) return false;
  const int64_t room = axis.image + axis.pad + end - *reach - 1;
  axis.columns = room < 0 ? 0 : room / axis.stride + 1;
  return room >= 0;
}

}  // namespace

Col2ImAttributes Col2ImAttributes::Read(const NodeSpec& spec) {
  const Attributes& attributes = spec.attributes();
  return {attributes.Ints("dilations"), attributes.Ints("pads"), attributes.Ints("strides")};
}

absl::Status BindCol2Im(BindContext& context, const Col2ImAttributes& attributes) {
  const TensorView *image = context.input_value(1), *block = context.input_value(2);
  if (image == nullptr || block == nullptr) return context.Defer();
  const DimsView in = context.input_dims(0);
  const auto axes = static_cast<size_t>(image->num_elements());
  auto* plan = context.NewState<Col2ImPlan>();
  const auto has = [&](const std::vector<int64_t>& list, size_t size) {
    return list.empty() || list.size() == size;
  };
  if (in.size() != 3 || block->num_elements() != static_cast<int64_t>(axes) || axes == 0 ||
      !has(attributes.dilations, axes) || !has(attributes.pads, 2 * axes) ||
      !has(attributes.strides, axes)) {
    return absl::InvalidArgumentError("shapes and attributes disagree on the number of axes");
  }
  auto* of_axis = context.NewArray<Col2ImAxis>(static_cast<int64_t>(axes));
  Dims out = {in[0], 1};
  for (const int64_t size : image->span<int64_t>()) out.push_back(size);
  ONWARD_RETURN_IF_ERROR(CheckedByteSize(context.input_dtype(0), out).status());
  plan->axes = static_cast<int64_t>(axes);
  plan->columns = plan->block = 1;
  for (size_t i = 0; i < axes; ++i) {
    Col2ImAxis& axis = of_axis[i];
    axis.image = image->as<int64_t>()[i];
    axis.block = block->as<int64_t>()[i];
    const bool fits = PlaceBlocks(attributes, i, axes, axis);
    const auto all = fits ? CheckedMul(plan->columns, axis.columns) : std::nullopt;
    const auto elements = fits ? CheckedMul(plan->block, axis.block) : std::nullopt;
    if (!all || !elements)
      return absl::InvalidArgumentError(absl::StrCat("the block does not fit axis ", i));
    plan->columns = *all;
    plan->block = *elements;
  }
  if (in[1] % plan->block != 0 || in[2] != plan->columns) {
    return absl::InvalidArgumentError(absl::StrCat("the input of shape ", DimsString(in),
                                                   " is not of blocks of ", plan->block,
                                                   " elements at ", plan->columns, " positions"));
  }
  out[1] = in[1] / plan->block;
  ONWARD_RETURN_IF_ERROR(CheckedByteSize(context.input_dtype(0), out).status());
  plan->planes = out[0] * out[1];
  plan->image = NumElements(out, 2, static_cast<int64_t>(out.size()));
  for (size_t i = axes - 1; i-- > 0;) {
    const Col2ImAxis& inner = of_axis[i + 1];
    of_axis[i].image_inner = inner.image * inner.image_inner;
    of_axis[i].block_inner = inner.block * inner.block_inner;
    of_axis[i].columns_inner = inner.columns * inner.columns_inner;
  }
  plan->of_axis = of_axis;
  context.SetOutput(0, out);
  return absl::OkStatus();
}

}  // namespace onward::kernels
