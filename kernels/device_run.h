// Memory in which the host and the kernels of a device tell each other about a run.
#pragma once

#include <cstdint>

#include "onward/kernel.h"

namespace onward::kernels {

// The memory behind RunServices::device_fault, which host and device see. A launch that is recorded
// keeps its arguments, so it reads here what differs from run to run.
struct DeviceRun : DeviceFault {
  uint32_t number = 0;  // of the run, as RandomStream has it
};

}  // namespace onward::kernels
