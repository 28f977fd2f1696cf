// Machine code of the emulated device, as its NVRTC makes it and its runtime loads it.
#pragma once

#include <cstdint>

namespace onward::emulated_cuda {

inline constexpr char kCodeMagic[] = "emulated code 1";

// Stands before the bytes of a shared library, which exports for each kernel a function that
// launches it: this prefix and the kernel's name.
struct CodeHead {
  char magic[sizeof(kCodeMagic)];
  uint64_t size;
};
inline constexpr char kLaunchPrefix[] = "emulated_launch_";

}  // namespace onward::emulated_cuda
