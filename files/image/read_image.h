// PNG and JPEG files as tensors.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "graph/base/tensor.h"

namespace onward {

// uint8 [height, width, channels] with 1 (`gray`) or 3 channels. Images of more than 2^28 pixels
// are refused before memory is taken. InvalidArgument names the file and the codec's complaint.
absl::StatusOr<Tensor> ReadImage(const std::string& path, bool gray);

}  // namespace onward
