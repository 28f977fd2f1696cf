// GroupNormalization and, with a group for each channel, InstanceNormalization.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/bind/several_values.h"
#include "onward/kernel.h"

namespace onward::kernels {

struct GroupAttributes {
  int64_t groups = 0;  // 0: one for each channel
  float epsilon = 1e-5f;
};

// InvalidArgument unless num_groups is positive.
absl::StatusOr<GroupAttributes> ParseGroups(const NodeSpec& spec, bool per_channel);

// X is [batch, groups * channels per group, spatial...]: runs of neighbouring elements, with
// statistics of their own. scale and bias have an element for each channel.
struct GroupSizes {
  int64_t runs = 0;  // batch x groups
  int64_t groups = 1, channels_per_group = 1, spatial = 1;

  // The elements of a run.
  int64_t run() const { return channels_per_group * spatial; }
};

// Settles output 0, in place of X. Inputs X, scale, bias.
absl::StatusOr<GroupSizes> BindGroupNormalization(BindContext& context,
                                                  const GroupAttributes& attributes,
                                                  const SeveralValues& several);

}  // namespace onward::kernels
