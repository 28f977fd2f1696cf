// The inputs of a graph that come from a batch.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "onward/session.h"
#include "onward/train_config.pb.h"
#include "training/data/places.h"

namespace onward::training {

// The inputs of a graph from a batch, by `data.inputs` or equal names. InvalidArgument: an input
// without default that no field feeds, with the fields.
absl::StatusOr<Session::Inputs> InputsOf(const std::vector<ValueInfo>& inputs, const Batch& batch,
                                         const DataConfig& data);

}  // namespace onward::training
