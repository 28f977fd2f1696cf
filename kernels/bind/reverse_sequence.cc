#include "kernels/bind/reverse_sequence.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "onward/shape.h"

namespace onward::kernels {

absl::Status BindReverseSequence(BindContext& context, int64_t batch_axis, int64_t time_axis) {
  const DimsView dims = context.input_dims(0);
  const auto rank = static_cast<int64_t>(dims.size());
  if (rank < 2) return absl::InvalidArgumentError(absl::StrCat("the input has rank ", rank));
  ONWARD_ASSIGN_OR_RETURN(const int64_t batch, NormalizeAxis(batch_axis, rank));
  ONWARD_ASSIGN_OR_RETURN(const int64_t time, NormalizeAxis(time_axis, rank));
  if (batch == time)
    return absl::InvalidArgumentError("batch_axis and time_axis are the same axis");
  const DimsView lengths = context.input_dims(1);
  if (lengths.size() != 1 || lengths[0] != dims[static_cast<size_t>(batch)]) {
    return absl::InvalidArgumentError(absl::StrCat("sequence_lens has shape ", DimsString(lengths),
                                                   " for an input of shape ", DimsString(dims)));
  }
  const int64_t later = std::max(batch, time);
  *context.NewState<ReverseSequencePlan>() = {
      dims[static_cast<size_t>(batch)], NumElements(dims, batch + 1, later + 1),
      dims[static_cast<size_t>(time)], NumElements(dims, time + 1, later + 1),
      NumElements(dims, later + 1, rank)};
  context.SetOutput(0, dims);
  return absl::OkStatus();
}

}  // namespace onward::kernels
