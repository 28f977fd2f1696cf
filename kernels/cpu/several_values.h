// BatchNormalizations of a training (onward.several_values in the node's metadata) need several
// values for each channel, as PyTorch's.
#pragma once

#include "absl/strings/str_cat.h"
#include "graph/ops/require.h"
#include "kernels/kernel.h"

namespace onward::cpu {

inline bool NeedsSeveralValues(const NodeSpec& spec) {
  return spec.node().metadata.count(kSeveralValuesKey) > 0;
}

inline absl::Status CheckSeveralValues(DimsView x) {
  int64_t count = 1;
  for (size_t i = 0; i < x.size(); ++i) count *= i == 1 ? 1 : x[i];
  if (count != 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "expected more than one value for each channel in training, got the shape ", DimsString(x),
      ": one value has no variance. Train in larger batches (batch_size; data.drop_last leaves out "
      "a last batch of one example), or keep the node in inference_mode"));
}

}  // namespace onward::cpu
