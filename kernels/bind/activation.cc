#include "kernels/bind/activation.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "graph/ops/activation.h"

namespace onward::kernels {

absl::StatusOr<ActivationSpec> ParseActivation(const NodeSpec& spec) {
  const std::string wanted = spec.attributes().String("activation");
  if (wanted.empty()) return ActivationSpec();
  const ActivationRow* row = FindActivation(wanted);
  if (row == nullptr)
    return absl::InvalidArgumentError(absl::StrCat("activation is '", wanted, "'"));
  return ActivationSpec{row->kind, spec.attributes().Float("activation_alpha", 0),
                        spec.attributes().Float("activation_beta", 0)};
}

}  // namespace onward::kernels
