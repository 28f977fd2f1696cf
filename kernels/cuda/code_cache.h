// Machine code that was compiled at run time, in files of the user: ONWARD_KERNEL_CACHE, or
// onward/kernels in XDG_CACHE_HOME or in ~/.cache. Code runs with the user's rights, so a directory
// that another user may write to is not used, and a file is used as a whole or not at all.
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"

namespace onward::kernels::cuda {

// The directory, made if it was not there; "" where code is not kept: ONWARD_KERNEL_CACHE is empty,
// no directory is named, or it is not the user's alone to write.
std::string CodeCacheDirectory();

// The code that was written for the key. Nullopt: none, or a file that is not as it was written.
std::optional<std::string> ReadCode(const std::string& directory, const std::string& key);

// Keeps the code; a file appears whole or not at all.
absl::Status WriteCode(const std::string& directory, const std::string& key,
                       const std::string& code);

}  // namespace onward::kernels::cuda
