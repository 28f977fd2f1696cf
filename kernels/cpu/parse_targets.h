// Instruction sets by name. Apart from targets.h, which the sources of vector loops include: those
// must not depend on a library.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "kernels/cpu/targets.h"

namespace onward::kernels::cpu {

// The targets of a list such as "avx2" or "avx512vnni,avx512bf16", with those that they imply.
// InvalidArgument: a name that no row has, or that the processor lacks.
absl::StatusOr<TargetMask> ParseTargets(std::string_view list);

}  // namespace onward::kernels::cpu
