// What the makers of fast float32 kernels ask of a node.
#pragma once

#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/cpu/simd/activation.h"
#include "kernels/cpu/targets.h"
#include "onward/kernel.h"

namespace onward::kernels::cpu {

using InstructionSet = Target;
inline bool Supports(InstructionSet set) { return (AllowedTargets() & MaskOf(set)) != 0; }
inline std::string_view InstructionSetName(InstructionSet set) { return RowOf(set).name; }
inline bool HasBf16() { return (AllowedTargets() & kBf16Targets) != 0; }

// Unimplemented when this process may not use `set` or an input is not float32. Input `saved` may
// be a float of 16 bits (saved_floats.h).
absl::Status CheckFloat32(const NodeSpec& spec, InstructionSet set, int saved = -1);

// Unimplemented when this process has no products of bfloat16, or the session's precision does not
// allow them; of a node also when an input is not float32, as above.
absl::Status CheckBFloat16Products(const KernelOptions& options);
absl::Status CheckBFloat16Products(const NodeSpec& spec, int saved = -1);

// The attributes activation, activation_alpha and activation_beta of fused ops; nothing for other
// ops. InvalidArgument: an unknown name.
absl::StatusOr<ActivationSpec> ParseActivation(const NodeSpec& spec);

// One op's makers per instruction set, slowest first. `name` gives the entries "<name>_avx512", ...
struct FastKernelRow {
  std::string_view domain;
  std::string_view op;
  std::string_view name;
  MakeKernel make[3];
};
// The entries of a table, fastest first within a row. They live as long as the process.
std::vector<KernelEntry> FastKernelEntries(absl::Span<const FastKernelRow> rows);

constexpr int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
// The larger piece when `count` things are cut into as few nearly equal pieces of at most `most`.
constexpr int64_t EvenPiece(int64_t count, int64_t most) {
  return count == 0 ? 1 : CeilDiv(count, CeilDiv(count, most));
}

}  // namespace onward::kernels::cpu
