// Indices that a kernel finds to be out of range.
#pragma once

#include "kernels/bind/indices.h"
#include "kernels/cuda/launch.cuh"
#include "onward/kernel.h"

namespace onward::kernels::cuda {

// Notes the first of a run; see DeviceFault.
__device__ inline void ReportBadIndex(const DeviceFaultSite& site, int64_t position, int64_t index,
                                      int64_t size) {
  if (atomicCAS(&site.fault->step, 0, site.step) != 0) return;
  site.fault->position = position;
  site.fault->index = index;
  site.fault->size = size;
}

// Wrapped; a bad index is noted.
__device__ inline int64_t CheckedIndex(const DeviceFaultSite& site, int64_t position, int64_t index,
                                       int64_t size) {
  const int64_t at = Wrapped(index, size);
  if (at < 0) ReportBadIndex(site, position, index, size);
  return at;
}

}  // namespace onward::kernels::cuda
