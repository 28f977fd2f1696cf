// Questions that the makers of fast float32 kernels ask of a node.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/bind/activation.h"
#include "kernels/cpu/simd/gemm_tile.h"
#include "kernels/cpu/targets.h"
#include "onward/kernel.h"

namespace onward::kernels::cpu {

// The target that was chosen for the node.
inline Target TargetOf(const NodeSpec& spec) { return static_cast<Target>(spec.target()); }

// Unimplemented when an input is not float32. Input `saved` may be a float of 16 bits
// (saved_floats.h).
absl::Status CheckFloat32(const NodeSpec& spec, int saved = -1);

// Unimplemented when the session's precision does not allow products of bfloat16.
absl::Status CheckBf16Products(const NodeSpec& spec);

// Returns whether products of bfloat16 take less time than those of float32 where arithmetic is
// what takes the time; true where the options name the instruction set.
bool PairsAreFaster(const NodeSpec& spec);
// Unimplemented as CheckBf16Products, or where they are not faster.
absl::Status CheckPairsAreFaster(const NodeSpec& spec);

// The tiles of products for the node's target: of bfloat16 where it is one of kBf16Targets, else of
// float32. Unimplemented as CheckBf16Products.
absl::StatusOr<const GemmTileKernels*> TilesOf(const NodeSpec& spec);
// The same; Unimplemented as CheckPairsAreFaster.
absl::StatusOr<const GemmTileKernels*> FasterTilesOf(const NodeSpec& spec);

constexpr int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
// The larger piece when `count` things are cut into as few nearly equal pieces of at most `most`.
constexpr int64_t EvenPiece(int64_t count, int64_t most) {
  return count == 0 ? 1 : CeilDiv(count, CeilDiv(count, most));
}

}  // namespace onward::kernels::cpu
