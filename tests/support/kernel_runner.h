// Runs one kernel on one node without an executor, for tests of kernels alone.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "onward/kernel.h"
#include "tests/cases/cases.h"

namespace onward::testing {

// Builds a one-node graph of the case, makes the kernel and runs it once with `num_threads`.
// Constant inputs are those whose bit is set in `constants`; the dims of the others are known to
// the kernel's maker, or none of them. Unimplemented passes through.
enum class KnownDims : bool { kNone, kAll };
absl::StatusOr<std::vector<Tensor>> RunKernel(const KernelEntry& entry,
                                              const cases::OpCase& op_case, int num_threads = 1,
                                              uint64_t constants = 0,
                                              const KernelOptions& options = {},
                                              KnownDims known = KnownDims::kAll);

// Each CPU kernel that the case's op has, once for each of its instruction sets that may run here:
// KernelOptions::cpu_targets is to be `target`.
struct KernelOfTarget {
  const KernelEntry& entry;
  uint32_t target;
};
std::vector<KernelOfTarget> KernelsPerTarget(const cases::OpCase& op_case);

// Empty when `actual` is within tolerance of `expected` (dtype, dims, then elements), else the
// first difference in words.
std::string Difference(const Tensor& actual, const Tensor& expected, double rtol, double atol);

}  // namespace onward::testing
