// Normalizations of a training (onward.several_values in the node's metadata) refuse statistics of
// one value, where PyTorch's batch_norm, instance_norm and group_norm do.
#pragma once

#include <string>

#include "absl/strings/str_cat.h"
#include "graph/ops/require.h"
#include "onward/kernel.h"

namespace onward::kernels {

class SeveralValues {
 public:
  explicit SeveralValues(const NodeSpec& spec) {
    const Node& node = spec.node();
    const auto mark = node.metadata.find(kSeveralValuesKey);
    if (mark == node.metadata.end()) return;
    if (node.op_type == "GroupNormalization") {
      of_ = Of::kGroup;
      groups_ = spec.attributes().Int("num_groups", 0);
    } else if (node.op_type == "InstanceNormalization") {
      of_ = mark->second == kSeveralValuesOfBatch ? Of::kGroup : Of::kInstance;
    } else {
      of_ = Of::kChannel;
    }
  }

  absl::Status Check(DimsView x) const {
    if (of_ == Of::kNothing || x.empty()) return absl::OkStatus();
    const int64_t channels = x.size() > 1 ? x[1] : 1;
    int64_t spatial = 1;
    for (size_t i = 2; i < x.size(); ++i) spatial *= x[i];
    const int64_t groups = groups_ == 0 ? channels : groups_;
    switch (of_) {
      case Of::kInstance:
        return spatial != 1 ? absl::OkStatus()
                            : Refused(x, "element after the channels of each example",
                                      "Train on larger inputs (longer sequences, larger images)");
      case Of::kGroup:
        return groups == 0 || x[0] * channels * spatial != groups
                   ? absl::OkStatus()
                   : Refused(x, "value for each group",
                             "Train in larger batches or on larger inputs, or in fewer groups");
      default:
        return x[0] * spatial != 1
                   ? absl::OkStatus()
                   : Refused(x, "value for each channel",
                             "Train in larger batches (batch_size; data.drop_last leaves out a "
                             "last batch of one example)");
    }
  }

 private:
  enum class Of : uint8_t { kNothing, kChannel, kInstance, kGroup };

  static absl::Status Refused(DimsView x, const char* what, const char* advice) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected more than one ", what, " in training, got the shape ", DimsString(x),
        ": one value has no variance. ", advice, ", or keep the node in inference_mode"));
  }

  Of of_ = Of::kNothing;
  int64_t groups_ = 0;  // 0: one for each channel
};

}  // namespace onward::kernels
