// NVRTC, CUDA's compiler as a library. It is loaded at first use; a machine without it has all
// other kernels.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace onward::kernels::cuda {

// Unimplemented: it cannot be loaded, with the loader's words.
absl::Status FindNvrtc();

// All that the machine code of a source depends on beside it: versions and the headers.
absl::StatusOr<std::string> NvrtcIdentity();

struct MachineCode {
  std::string bytes;
  std::string log;  // warnings
};

// Machine code of the source, which may include the headers that the provider holds
// (kernel_headers.h), for the architecture "sm_90". Unimplemented: NVRTC is absent or refuses it,
// with its log.
absl::StatusOr<MachineCode> CompileToMachineCode(const std::string& source,
                                                 const std::string& architecture,
                                                 const std::vector<std::string>& options);

}  // namespace onward::kernels::cuda
