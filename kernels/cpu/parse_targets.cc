#include "kernels/cpu/parse_targets.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace onward::kernels::cpu {
namespace {

// The target and those that it implies.
TargetMask WithImplied(Target target) {
  TargetMask mask = MaskOf(target);
  for (; target != Target::kBaseline; target = RowOf(target).implied)
    mask |= MaskOf(RowOf(target).implied);
  return mask;
}

}  // namespace

absl::StatusOr<TargetMask> ParseTargets(std::string_view list) {
  TargetMask mask = 0;
  const std::string text(list);
  for (const std::string& name : std::vector<std::string>(absl::StrSplit(text, ','))) {
    int i = 0;
    while (i < kNumTargets && kTargetRows[i].name != name) ++i;
    if (i == kNumTargets)
      return absl::InvalidArgumentError(
          absl::StrCat("'", name, "' is not a CPU feature of this build; give one or several of ",
                       TargetNames(~TargetMask{0}), ", with commas between them"));
    const TargetMask wanted = WithImplied(static_cast<Target>(i));
    if ((wanted & ~DetectedTargets()) != 0)
      return absl::InvalidArgumentError(
          absl::StrCat("the processor lacks ", name, "; it has ", TargetNames(DetectedTargets())));
    mask |= wanted;
  }
  return mask;
}

}  // namespace onward::kernels::cpu
