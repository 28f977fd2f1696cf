#include "serving/scheduling/waiting_request.h"

#include <new>

namespace onward::serving {

void WaitingRequest::FailForMemory() {
  if (replied) return;
  request.reset();
  try {
    Fail(absl::ResourceExhaustedError("there is not enough memory for this request now"));
  } catch (const std::bad_alloc&) {
    // A status without a text takes no memory.
    if (!replied) Fail(absl::Status(absl::StatusCode::kResourceExhausted, ""));
  }
}

}  // namespace onward::serving
