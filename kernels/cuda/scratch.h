// The scratch of a kernel that keeps several things there.
#pragma once

#include <cstdint>

namespace onward::kernels::cuda {

class Scratch {
 public:
  // Returns where `bytes` more begin.
  int64_t Take(int64_t bytes) {
    const int64_t begin = size_;
    size_ += (bytes + 255) / 256 * 256;
    return begin;
  }
  int64_t size() const { return size_; }

 private:
  int64_t size_ = 0;
};

}  // namespace onward::kernels::cuda
