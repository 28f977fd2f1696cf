// onward serve --check: whether a server would begin with these models and options.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "serving/server.h"

namespace onward::cli {

// Loads all models, warm-ups included, and opens no port. Prints a line for each version that would
// be served, or with `json` {"models":[{"name","version"}],"problems":[...]}, and says on standard
// error what is wrong. FailedPrecondition: something is.
absl::Status CheckServed(const std::vector<serving::ModelSource>& places,
                         const serving::ServerOptions& options, bool json);

}  // namespace onward::cli
