// Copies of rows that lie apart, on the device.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "absl/status/status.h"

namespace onward::kernels::cuda {

struct Rows {
  const char* from;
  char* to;
  int64_t rows, columns, from_pitch, to_pitch;  // bytes, but for the rows
};

// Copies that do not overlap, many in one launch: in units of up to 16 bytes, where all of their
// rows begin at multiples of these.
class RowCopies {
 public:
  explicit RowCopies(cudaStream_t stream) : stream_(stream) {}
  // Adds rows to the batch; a full batch is launched on the stream first.
  absl::Status Add(const Rows& rows);
  // Launches the rest on the stream.
  absl::Status Finish();

 private:
  static constexpr int kMost = 32;
  cudaStream_t stream_;
  int count_ = 0;
  Rows copies_[kMost];
};

}  // namespace onward::kernels::cuda
