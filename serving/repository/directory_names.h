// The names of what lies in a directory.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace onward::serving {

// In their order, without hidden ones. NotFound: it cannot be read. Throws bad_alloc where there is
// no memory; std::filesystem's iterator would end the process.
absl::StatusOr<std::vector<std::string>> NamesIn(const std::string& directory);

}  // namespace onward::serving
