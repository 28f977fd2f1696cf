// Errors that clients may read.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace onward::serving {

// The error without the path of the model, for clients.
absl::Status WithoutPath(const absl::Status& status, const std::string& path);

}  // namespace onward::serving
