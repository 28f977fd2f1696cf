// ONNX Runtime as a judge of exported models: in the environment that scripts/peers makes.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/graph.h"
#include "onward/session.h"

namespace onward::testing {

// Returns whether the environment is there ($ONWARD_PEERS, else ~/.cache/onward/peers).
bool HasOnnxRuntime();

// The Python of that environment.
std::string OnnxRuntimePython();

struct OnnxRuntimeCall {
  Model model;
  Session::Inputs inputs;
};

// Exports the models, has onnx.checker check them fully, and runs them, all in one process. Outputs
// by name, of each.
std::vector<absl::StatusOr<Session::Outputs>> RunInOnnxRuntime(
    const std::vector<OnnxRuntimeCall>& calls);

// Exports the model, has onnx.checker check it fully, and runs it. Outputs by name.
absl::StatusOr<Session::Outputs> RunInOnnxRuntime(const Model& model,
                                                  const Session::Inputs& inputs);

}  // namespace onward::testing
