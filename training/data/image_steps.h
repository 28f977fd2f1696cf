// The steps that an image goes through before it is a tensor, as the configuration lists them.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "onward/data_config.pb.h"
#include "training/data/pixels.h"

namespace onward::training {

// The longest side that a step may make, in pixels.
constexpr int64_t kMaxImageSide = 1 << 14;

using ImageSteps = google::protobuf::RepeatedPtrField<ImageStep>;

// InvalidArgument names the step by its number and what is wrong with it.
absl::Status CheckSteps(const ImageSteps& steps);
// The same of all that is done to an image: its steps, mean and deviation.
absl::Status CheckImages(const ImageData& config);
// Height and width of what the steps make of any image; nullopt: it depends on the image.
std::optional<std::pair<int64_t, int64_t>> SizeAfter(const ImageSteps& steps);
// Equal numbers, equal images. InvalidArgument: the image is too small for a crop. The steps are
// checked.
absl::StatusOr<Pixels> Apply(const ImageSteps& steps, Pixels pixels, uint64_t random);

}  // namespace onward::training
