// Image files as tensors.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "onward/tensor.h"

namespace onward {

// uint8 [height, width, channels] with 1 (`gray`) or 3 channels, of any format that codec.h
// decodes, by its content. Alpha is dropped. NotFound; InvalidArgument names the file and the
// codec's complaint, images of more than 2^28 pixels included; Unimplemented: a format that this
// build does not decode.
absl::StatusOr<Tensor> ReadImage(const std::string& path, bool gray);

}  // namespace onward
