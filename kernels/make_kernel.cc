#include "kernels/make_kernel.h"

#include "absl/strings/str_cat.h"
#include "kernels/cpu/targets.h"
#include "onward/status.h"

namespace onward::kernels {

absl::StatusOr<NamedKernel> MakeNamedKernel(const KernelEntry& entry, NodeSpec& spec) {
  NamedKernel made;
  made.name = std::string(entry.name);
  if (entry.targets != 0) {
    const cpu::TargetMask allowed = cpu::AllowedTargets() & spec.options().cpu_targets;
    if ((entry.targets & allowed) == 0)
      return absl::UnimplementedError(absl::StrCat("needs ", cpu::TargetNames(entry.targets),
                                                   "; the processor and the options allow ",
                                                   cpu::TargetNames(allowed)));
    const cpu::Target target = cpu::Widest(entry.targets & allowed);
    spec.set_target(static_cast<int>(target));
    absl::StrAppend(&made.name, "_", std::string(cpu::RowOf(target).name));
  }
  ONWARD_ASSIGN_OR_RETURN(made.kernel, entry.make(spec));
  return made;
}

absl::Status TakesNode(const KernelEntry& entry, NodeSpec& spec) {
  spec.set_only_asks(true);
  absl::Status status = MakeNamedKernel(entry, spec).status();
  spec.set_only_asks(false);
  return status;
}

}  // namespace onward::kernels
