#include "executors/plan/choose_kernel.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/make_kernel.h"

namespace onward::executors {

absl::StatusOr<KernelChoice> ChooseKernel(const ExecutionProvider& provider, NodeSpec& spec,
                                          bool reference_only) {
  KernelChoice choice;
  std::vector<const KernelEntry*> entries =
      FindKernels(provider, spec.node().domain, spec.node().op_type);
  // The portable one is the last.
  if (reference_only && entries.size() > 1) entries.erase(entries.begin(), entries.end() - 1);
  for (const KernelEntry* entry : entries) {
    absl::StatusOr<kernels::NamedKernel> made = kernels::MakeNamedKernel(*entry, spec);
    if (made.ok()) {
      choice.kernel = std::move(made->kernel);
      choice.name = std::move(made->name);
      return choice;
    }
    if (!absl::IsUnimplemented(made.status())) return made.status();
    choice.refusals.push_back(
        absl::StrCat(std::string(entry->name), ": ", made.status().message()));
  }
  return choice;
}

}  // namespace onward::executors
