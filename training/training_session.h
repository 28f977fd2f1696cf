// A step that is run again and again: a session whose state inputs take the values of the outputs
// that update them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "executors/session.h"

namespace onward {

// Not thread-safe.
class TrainingSession {
 public:
  // `step` has update bindings (AddOptimizer, or an imported TrainingInfoProto); every input that
  // is updated has a value to start with.
  static absl::StatusOr<std::unique_ptr<TrainingSession>> Create(
      Model step, const SessionOptions& options = {});

  // Runs one step and answers the outputs that are no state. State keeps its value when the step
  // fails. Inputs with a default that are not given have their default (see Set).
  absl::StatusOr<Session::Outputs> Step(const Session::Inputs& inputs);

  // State by the names of the inputs: parameters, and what the optimizer keeps.
  std::vector<std::string> state_names() const;
  absl::StatusOr<Tensor> State(const std::string& name) const;
  // Sets state, or the value that an input without one in Step has from now on (settings of an
  // optimizer). InvalidArgument: no such input, or another dtype or shape.
  absl::Status Set(const std::string& name, Tensor value);

  const Session& session() const { return *session_; }

 private:
  // One update: positions among the session's inputs and outputs.
  struct Slot {
    size_t input;
    size_t output;
  };

  TrainingSession() = default;

  std::unique_ptr<Session> session_;
  std::map<std::string, size_t> input_index_;
  std::vector<Slot> slots_;
  std::vector<Value> kept_;     // per input: state or a value set; empty: given in Step or default
  std::vector<Value> results_;  // per output; state outputs are written in turn with `kept_`
};

}  // namespace onward
