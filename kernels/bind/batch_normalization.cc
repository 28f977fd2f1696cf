#include "kernels/bind/batch_normalization.h"

#include "absl/strings/str_cat.h"
#include "onward/shape.h"

namespace onward::kernels {
namespace {

absl::StatusOr<BatchRows> RowsOf(DimsView x) {
  if (x.empty()) return absl::InvalidArgumentError("X has rank 0, needs a batch axis");
  if (x.size() == 1) return BatchRows{x[0], 1, 1};
  return BatchRows{x[0], x[1], NumElements(x.subspan(2))};
}

// The first `count` of the names are inputs with an element for each channel, from input 1 on.
absl::Status CheckChannels(const BindContext& context, const BatchRows& rows, int count) {
  static constexpr const char* kNames[] = {"scale", "B", "input_mean", "input_var"};
  for (int i = 0; i < count; ++i) {
    const DimsView dims = context.input_dims(1 + i);
    if (NumElements(dims) == rows.channels) continue;
    return absl::InvalidArgumentError(absl::StrCat(kNames[i], " has shape ", DimsString(dims),
                                                   ", must have one element for each of ",
                                                   rows.channels, " channels"));
  }
  return absl::OkStatus();
}

// Output 0 is as X, those behind it have an element for each channel.
void SetOutputs(BindContext& context, const BatchRows& rows) {
  context.SetOutput(0, context.input_dims(0));
  for (int i = 1; i < 3; ++i) {
    if (context.has_output(i)) context.SetOutput(i, {rows.channels});
  }
}

}  // namespace

absl::StatusOr<BatchRows> BindBatchNormalization(BindContext& context,
                                                 const SeveralValues& several) {
  ONWARD_RETURN_IF_ERROR(several.Check(context.input_dims(0)));
  ONWARD_ASSIGN_OR_RETURN(const BatchRows rows, RowsOf(context.input_dims(0)));
  ONWARD_RETURN_IF_ERROR(CheckChannels(context, rows, 4));
  SetOutputs(context, rows);
  context.AllowInPlace(0, 0);
  return rows;
}

absl::StatusOr<BatchRows> BindBatchNormalizationGradient(BindContext& context) {
  if (context.input_dims(2) != context.input_dims(0)) {
    return absl::InvalidArgumentError(absl::StrCat("dY is ", DimsString(context.input_dims(2)),
                                                   ", X ", DimsString(context.input_dims(0))));
  }
  ONWARD_ASSIGN_OR_RETURN(const BatchRows rows, RowsOf(context.input_dims(0)));
  ONWARD_RETURN_IF_ERROR(CheckChannels(context, rows, 1));
  SetOutputs(context, rows);
  context.AllowInPlace(0, 2);
  return rows;
}

}  // namespace onward::kernels
