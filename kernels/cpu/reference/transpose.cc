// Transpose.
#include "absl/strings/str_cat.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/packed.h"
#include "kernels/cpu/strided_copy.h"
#include "onward/shape.h"

namespace onward::cpu {
namespace {

class Transpose : public Kernel {
 public:
  explicit Transpose(absl::Span<const int64_t> perm) : perm_(perm.begin(), perm.end()) {}
  absl::Status Bind(BindContext& context) const override {
    const DimsView dims = context.input_dims(0);
    if (!perm_.empty() && perm_.size() != dims.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("perm ", DimsString(perm_), " does not fit rank ", dims.size()));
    }
    const Dims strides = Strides(dims);
    Dims out(dims.size()), from(dims.size());
    for (size_t i = 0; i < dims.size(); ++i) {
      const size_t axis = perm_.empty() ? dims.size() - 1 - i : static_cast<size_t>(perm_[i]);
      out[i] = dims[axis];
      from[i] = strides[axis];
    }
    auto* copy = context.NewState<StridedCopy>();
    *copy = PlanStridedCopy(context, context.input_dtype(0), out, from, Strides(out));
    context.SetOutput(0, out);
    if (copy->flat) context.AliasOutput(0, 0);
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    RunStridedCopy(context, context.state<StridedCopy>(), context.input(0).data,
                   context.output(0).data);
    return absl::OkStatus();
  }

 private:
  Dims perm_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeTranspose(const NodeSpec& spec) {
  const std::vector<int64_t> perm = spec.attributes().Ints("perm");
  std::vector<bool> seen(perm.size(), false);
  for (const int64_t axis : perm) {
    if (axis < 0 || axis >= static_cast<int64_t>(perm.size()) || seen[static_cast<size_t>(axis)]) {
      return absl::InvalidArgumentError(
          absl::StrCat("perm ", DimsString(perm), " is not a permutation"));
    }
    seen[static_cast<size_t>(axis)] = true;
  }
  return UnpackedWhereNeeded(spec, std::make_unique<Transpose>(perm));
}

constexpr KernelEntry kKernels[] = {
    {"", "Transpose", "transpose_reference", MakeTranspose},
};

}  // namespace

KernelList ReferenceTranspose() { return kKernels; }

}  // namespace onward::cpu
