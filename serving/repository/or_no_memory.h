// The status of a load that finds no memory to say anything.
#pragma once

#include <new>

#include "absl/status/status.h"

namespace onward::serving {

// Returns what `make` does or, where it finds no memory, ResourceExhausted without a text, which
// takes none.
template <typename F>
auto OrNoMemory(F make) -> decltype(make()) {
  try {
    return make();
  } catch (const std::bad_alloc&) {
    return absl::Status(absl::StatusCode::kResourceExhausted, "");
  }
}

}  // namespace onward::serving
