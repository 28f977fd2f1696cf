#include "kernels/bind/einsum.h"

#include <algorithm>
#include <array>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "onward/status.h"

namespace onward::kernels {
namespace {

using Sizes = std::array<int64_t, kMaxEinsumLabels>;  // -1: the label does not occur

absl::Status MeetSizes(const EinsumLabels& labels, DimsView dims, Sizes& sizes) {
  for (size_t i = 0; i < labels.size(); ++i) {
    int64_t& size = sizes[static_cast<size_t>(labels[i])];
    if (size == -1 || size == 1) {
      size = dims[i];
    } else if (dims[i] != size && dims[i] != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat(EinsumLabelName(labels[i]), " is ", size, " and ", dims[i]));
    }
  }
  return absl::OkStatus();
}

EinsumOperand Walk(const EinsumLabels& labels, DimsView dims, const Sizes& sizes) {
  EinsumOperand operand;
  const Dims strides = Strides(dims);
  for (size_t i = 0; i < labels.size(); ++i) {
    const int64_t stride = dims[i] == 1 ? 0 : strides[i];
    const auto found = std::find(operand.labels.begin(), operand.labels.end(), labels[i]);
    if (found != operand.labels.end()) {
      operand.strides[static_cast<size_t>(found - operand.labels.begin())] += stride;
      continue;
    }
    operand.labels.push_back(labels[i]);
    operand.sizes.push_back(sizes[static_cast<size_t>(labels[i])]);
    operand.strides.push_back(stride);
  }
  return operand;
}

}  // namespace

absl::StatusOr<EinsumTerms> ParseEinsum(std::string_view text,
                                        absl::Span<const DimsView> operands) {
  std::vector<size_t> ranks;
  for (const DimsView dims : operands) ranks.push_back(dims.size());
  ONWARD_ASSIGN_OR_RETURN(EinsumEquation equation, ParseEinsumEquation(text, ranks));
  Sizes sizes;
  sizes.fill(-1);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (absl::Status met = MeetSizes(equation.terms[i], operands[i], sizes); !met.ok())
      return Annotate(met, absl::StrCat("input ", i, ": "));
  }
  EinsumTerms result;
  for (size_t i = 0; i < operands.size(); ++i)
    result.operands.push_back(Walk(equation.terms[i], operands[i], sizes));
  for (const EinsumLabel label : equation.output)
    result.output.push_back(sizes[static_cast<size_t>(label)]);
  result.output_labels = std::move(equation.output);
  ONWARD_RETURN_IF_ERROR(CheckedNumElements(result.output).status());
  return result;
}

}  // namespace onward::kernels
