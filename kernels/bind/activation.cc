#include "kernels/bind/activation.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "graph/ops/activation.h"

namespace onward::kernels {

absl::StatusOr<ActivationSpec> ParseActivation(const NodeSpec& spec, std::string_view prefix) {
  const std::string attribute = absl::StrCat(std::string(prefix), "activation");
  const std::string wanted = spec.attributes().String(attribute);
  if (wanted.empty()) return ActivationSpec();
  const ActivationRow* row = FindActivation(wanted);
  if (row == nullptr)
    return absl::InvalidArgumentError(absl::StrCat(attribute, " is '", wanted, "'"));
  return ActivationSpec{row->kind, spec.attributes().Float(absl::StrCat(attribute, "_alpha"), 0),
                        spec.attributes().Float(absl::StrCat(attribute, "_beta"), 0)};
}

}  // namespace onward::kernels
