#include "kernels/bind/roi_align.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "onward/shape.h"

namespace onward::kernels {

absl::StatusOr<RoiAlignOptions> ReadRoiAlignOptions(const NodeSpec& spec) {
  const Attributes& attributes = spec.attributes();
  RoiAlignOptions options;
  options.half_pixel =
      attributes.String("coordinate_transformation_mode", "half_pixel") == "half_pixel";
  options.is_max = attributes.String("mode", "avg") == "max";
  options.out_height = attributes.Int("output_height", 1);
  options.out_width = attributes.Int("output_width", 1);
  options.sampling_ratio = attributes.Int("sampling_ratio", 0);
  options.scale = static_cast<double>(attributes.Float("spatial_scale", 1));
  if (options.out_height < 1 || options.out_width < 1 || options.sampling_ratio < 0) {
    return absl::InvalidArgumentError(absl::StrCat("output_height ", options.out_height,
                                                   ", output_width ", options.out_width,
                                                   ", sampling_ratio ", options.sampling_ratio));
  }
  return options;
}

absl::Status BindRoiAlign(BindContext& context, const RoiAlignOptions& options) {
  const DimsView map = context.input_dims(0), rois = context.input_dims(1);
  const DimsView batch = context.input_dims(2);
  const bool fits = map.size() == 4 && rois.size() == 2 && rois[1] == 4 && batch.size() == 1 &&
                    batch[0] == rois[0] && map[2] > 0 && map[3] > 0;
  if (!fits) {
    return absl::InvalidArgumentError(
        absl::StrCat("shapes ", DimsString(map), " of X, ", DimsString(rois), " of rois and ",
                     DimsString(batch), " of batch_indices do not fit together"));
  }
  context.SetOutput(0, {rois[0], map[1], options.out_height, options.out_width});
  return absl::OkStatus();
}

absl::StatusOr<MaxRoiPoolOptions> ReadMaxRoiPoolOptions(const NodeSpec& spec) {
  const std::vector<int64_t> shape = spec.attributes().Ints("pooled_shape");
  if (shape.size() != 2 || shape[0] < 1 || shape[1] < 1)
    return absl::InvalidArgumentError(
        absl::StrCat("pooled_shape is ", DimsString(shape), ", must be two numbers of at least 1"));
  return MaxRoiPoolOptions{shape[0], shape[1], spec.attributes().Float("spatial_scale", 1)};
}

absl::Status BindMaxRoiPool(BindContext& context, const MaxRoiPoolOptions& options) {
  const DimsView map = context.input_dims(0), rois = context.input_dims(1);
  if (map.size() != 4 || rois.size() != 2 || rois[1] != 5) {
    return absl::InvalidArgumentError(
        absl::StrCat("X of shape ", DimsString(map), " and rois of shape ", DimsString(rois)));
  }
  context.SetOutput(0, {rois[0], map[1], options.height, options.width});
  return absl::OkStatus();
}

}  // namespace onward::kernels
