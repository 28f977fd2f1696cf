#include "kernels/cpu/fast_float.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/machine_peak.h"
#include "kernels/cpu/saved_floats.h"
#include "onward/status.h"

namespace onward::kernels::cpu {

absl::Status CheckFloat32(const NodeSpec& spec, int saved) {
  for (int i = 0; i < spec.num_inputs(); ++i) {
    if (i == saved && IsSavedNarrow(spec.input_dtype(i))) continue;
    if (spec.has_input(i) && spec.input_dtype(i) != DType::kFloat32)
      return absl::UnimplementedError(absl::StrCat("float32 only, input ", i, " is ",
                                                   std::string(DTypeName(spec.input_dtype(i)))));
  }
  return absl::OkStatus();
}

absl::Status CheckBf16Products(const NodeSpec& spec) {
  if (spec.options().precision != Precision::kFast)
    return absl::UnimplementedError("products of bfloat16 are for precision fast");
  return absl::OkStatus();
}

bool PairsAreFaster(const NodeSpec& spec) {
  const bool is_named = spec.options().cpu_targets != ~TargetMask{0};
  return TargetOf(spec) != Target::kAvx512Bf16 || is_named || UsesBf16Products();
}

absl::Status CheckPairsAreFaster(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckBf16Products(spec));
  if (!PairsAreFaster(spec))
    return absl::UnimplementedError("this processor multiplies float32 faster than bfloat16");
  return absl::OkStatus();
}

absl::StatusOr<const GemmTileKernels*> FasterTilesOf(const NodeSpec& spec) {
  if ((kBf16Targets & MaskOf(TargetOf(spec))) != 0)
    ONWARD_RETURN_IF_ERROR(CheckPairsAreFaster(spec));
  return TilesOf(spec);
}

absl::StatusOr<const GemmTileKernels*> TilesOf(const NodeSpec& spec) {
  const Target target = TargetOf(spec);
  if ((kBf16Targets & MaskOf(target)) == 0) return &kGemmTilesPerTarget.For(target)();
  ONWARD_RETURN_IF_ERROR(CheckBf16Products(spec));
  return &kBf16TilesPerTarget.For(target)();
}

}  // namespace onward::kernels::cpu
