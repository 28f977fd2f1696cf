// Memory in which sessions compute of which one runs at a time: the phases of a training.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "executors/provider.h"
#include "onward/status.h"

namespace onward::executors {

// Not thread-safe.
class SharedArena {
 public:
  // At least `bytes` of the host's memory, valid until more is asked for. What it held is lost when
  // it grows. ResourceExhausted: there is not so much.
  absl::StatusOr<void*> Reserve(int64_t bytes) {
    if (bytes > capacity_) {
      memory_.reset();
      capacity_ = 0;
      ONWARD_ASSIGN_OR_RETURN(memory_, CpuProvider().Allocate(bytes));
      capacity_ = bytes;
    }
    return memory_.get();
  }
  // Gives the memory back until more is asked for.
  void Release() {
    memory_.reset();
    capacity_ = 0;
  }
  const void* data() const { return memory_.get(); }
  int64_t capacity() const { return capacity_; }

 private:
  std::shared_ptr<void> memory_;
  int64_t capacity_ = 0;
};

}  // namespace onward::executors
