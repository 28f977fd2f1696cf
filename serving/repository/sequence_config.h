// The part of a model's configuration about sequences of requests (sequence_batching).
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/interface.h"
#include "onward/tensor.h"
#include "serving/repository/model_config.pb.h"

namespace onward::serving {

// A tensor that a run gives and the next run of the sequence takes. It begins as zeros.
struct SequenceState {
  std::string output;
  ValueInfo input;
  std::vector<int64_t> dims;  // of the beginning; -1: as the model and the request say
  // The file's tensor, with which the state begins (one row of it, in a batched model); without a
  // file it begins with zeros.
  std::optional<Tensor> beginning;
};

// An input that tells the model where in its sequence a request stands.
struct SequenceControl {
  enum class Kind : uint8_t { kStart, kReady, kEnd, kId };
  ValueInfo input;
  Kind kind = Kind::kStart;
  std::array<Tensor, 2> values;  // scalars for false and true; not for kId
};

struct SequenceConfig {
  std::chrono::microseconds most_idle = std::chrono::seconds(1);
  size_t most_sequences = 0;
  std::vector<SequenceState> states;
  std::vector<SequenceControl> controls;
  std::vector<ValueInfo> client_inputs;  // the others
  bool batched = false;                  // the first dim of each tensor is that of a batch

  // Returns whether the output is a state.
  bool Keeps(const std::string& output) const;
  // Returns whether the server gives the input itself.
  bool Gives(const std::string& input) const;
};

// `inputs` and `outputs`: all of the model, whose `directory` has initial states in its folder
// "initial_state". InvalidArgument names the field, what was expected and what it has; others as
// ReadModelTensor.
absl::StatusOr<SequenceConfig> ReadSequenceConfig(const config::ModelConfig& config,
                                                  const std::string& directory,
                                                  const std::vector<ValueInfo>& inputs,
                                                  const std::vector<ValueInfo>& outputs);

}  // namespace onward::serving
