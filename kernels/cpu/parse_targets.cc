#include "kernels/cpu/parse_targets.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace onward::kernels::cpu {

absl::StatusOr<TargetMask> ParseTargets(std::string_view list) {
  TargetMask mask = 0;
  const std::string unknown(ReadTargets(list, mask));
  if (!unknown.empty() || mask == 0)
    return absl::InvalidArgumentError(
        absl::StrCat("'", unknown, "' is not a CPU feature of this build; give one or several of ",
                     TargetNames(~TargetMask{0}), ", with commas between them"));
  const TargetMask lacking = mask & ~DetectedTargets();
  if (lacking != 0)
    return absl::InvalidArgumentError(absl::StrCat("the processor lacks ", TargetNames(lacking),
                                                   "; it has ", TargetNames(DetectedTargets())));
  return mask;
}

}  // namespace onward::kernels::cpu
