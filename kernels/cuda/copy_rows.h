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

// In units of up to 16 bytes, where all rows begin at multiples of these.
absl::Status CopyRows(const Rows& rows, cudaStream_t stream);

}  // namespace onward::kernels::cuda
