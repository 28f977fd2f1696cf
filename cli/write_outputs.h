// Outputs as files, named after them.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "onward/session.h"

namespace onward::cli {

// Writes tensors as NAME.npy, maps as NAME.json and tensors of sequences as NAME_0.npy, ... into
// the directory, which is made where it is missing. InvalidArgument: it cannot be made; others as
// WriteNpy.
absl::Status WriteOutputs(const Session::Outputs& outputs, const std::string& directory);

}  // namespace onward::cli
