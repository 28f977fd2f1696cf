// Image files as inputs of a model.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "onward/session.h"
#include "training/data/model_notes.h"

namespace onward::cli {

// A .png or .jpg for an input of rank 3 or 4: as `note` says, where there is one for this input,
// else as pixels of 0 to 255. Says on stderr what was done to a float input. InvalidArgument: not
// an input of images, or a file that cannot be read.
absl::StatusOr<Tensor> ReadImageInput(const ValueInfo& info, const std::string& path,
                                      const std::optional<training::ImageNote>& note);

// The note of --image, onward.ImageData in text format, or of the model's metadata where that is
// empty.
absl::StatusOr<std::optional<training::ImageNote>> ImageNoteOf(const std::string& option,
                                                               const training::Notes& metadata);

}  // namespace onward::cli
