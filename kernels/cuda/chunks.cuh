// Runs of bytes that are only moved, in chunks of up to 16 bytes.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "absl/status/status.h"

namespace onward::kernels::cuda {

// An address as a part of the alignment that DispatchChunk takes.
inline uint64_t AlignmentOf(const void* address) { return reinterpret_cast<uintptr_t>(address); }

// Calls launch(chunk) with the largest type that `alignment` is a multiple of: the bits of run
// lengths and addresses, combined by |.
template <typename LaunchChunks>
absl::Status DispatchChunk(uint64_t alignment, LaunchChunks launch) {
  if (alignment % 16 == 0) return launch(uint4());
  if (alignment % 8 == 0) return launch(uint64_t());
  if (alignment % 4 == 0) return launch(uint32_t());
  if (alignment % 2 == 0) return launch(uint16_t());
  return launch(uint8_t());
}

}  // namespace onward::kernels::cuda
