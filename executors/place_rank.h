// The device of a rank among those of its host, and sums in its memory.
#pragma once

#include "absl/status/status.h"
#include "onward/session_options.h"

namespace onward::executors {

// For sessions of a rank: "cuda" becomes the device of the rank's number on its host, and the
// communicator one that sums there as well, where it can; else the log says why sums go through
// the host. Every rank calls it. The communicator may be null: nothing changes.
absl::Status PlaceRank(SessionOptions& options);

}  // namespace onward::executors
