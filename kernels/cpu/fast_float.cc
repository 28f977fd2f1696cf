#include "kernels/cpu/fast_float.h"

#include <deque>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/ops/activation.h"
#include "kernels/cpu/saved_floats.h"
#include "kernels/cpu/simd/gemm_tile.h"
#include "onward/status.h"

namespace onward::kernels::cpu {

absl::Status CheckFloat32(const NodeSpec& spec, InstructionSet set, int saved) {
  if (!Supports(set))
    return absl::UnimplementedError(
        absl::StrCat("not allowed or not supported: ", std::string(InstructionSetName(set))));
  for (int i = 0; i < spec.num_inputs(); ++i) {
    if (i == saved && IsSavedNarrow(spec.input_dtype(i))) continue;
    if (spec.has_input(i) && spec.input_dtype(i) != DType::kFloat32)
      return absl::UnimplementedError(absl::StrCat("float32 only, input ", i, " is ",
                                                   std::string(DTypeName(spec.input_dtype(i)))));
  }
  return absl::OkStatus();
}

absl::Status CheckBFloat16Products(const KernelOptions& options) {
  if (options.precision != Precision::kFast)
    return absl::UnimplementedError("products of bfloat16 are for precision fast");
  if (!HasBf16()) return absl::UnimplementedError("the processor has no AVX512-BF16");
  return absl::OkStatus();
}

absl::Status CheckBFloat16Products(const NodeSpec& spec, int saved) {
  ONWARD_RETURN_IF_ERROR(CheckBFloat16Products(spec.options()));
  return CheckFloat32(spec, InstructionSet::kAvx512, saved);
}

absl::StatusOr<ActivationSpec> ParseActivation(const NodeSpec& spec) {
  const std::string wanted = spec.attributes().String("activation");
  if (wanted.empty()) return ActivationSpec();
  const ActivationRow* row = FindActivation(wanted);
  if (row == nullptr)
    return absl::InvalidArgumentError(absl::StrCat("activation is '", wanted, "'"));
  return ActivationSpec{row->kind, spec.attributes().Float("activation_alpha", 0),
                        spec.attributes().Float("activation_beta", 0)};
}

std::vector<KernelEntry> FastKernelEntries(absl::Span<const FastKernelRow> rows) {
  std::vector<KernelEntry> entries;
  for (const FastKernelRow& row : rows) {
    for (InstructionSet set :
         {InstructionSet::kAvx512, InstructionSet::kAvx2, InstructionSet::kBaseline}) {
      // Entries name it until the process ends.
      static auto* names = new std::deque<std::string>();
      names->push_back(
          absl::StrCat(std::string(row.name), "_", std::string(InstructionSetName(set))));
      entries.push_back({row.domain, row.op, names->back(), row.make[static_cast<int>(set)]});
    }
  }
  return entries;
}

}  // namespace onward::kernels::cpu
