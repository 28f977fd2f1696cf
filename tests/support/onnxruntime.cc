#include "tests/support/onnxruntime.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "graph/base/status.h"
#include "onnx_io/export.h"
#include "onnx_io/npy.h"
#include "tests/support/scratch_directory.h"

namespace onward::testing {
namespace {

std::string Python() {
  const char* peers = std::getenv("ONWARD_PEERS");
  const char* home = std::getenv("HOME");
  const std::string folder =
      peers != nullptr ? peers : absl::StrCat(home == nullptr ? "" : home, "/.cache/onward/peers");
  return folder + "/onnxruntime/bin/python";
}

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

bool HasOnnxRuntime() { return std::filesystem::exists(Python()); }

absl::StatusOr<Session::Outputs> RunInOnnxRuntime(const Model& model,
                                                  const Session::Inputs& inputs) {
  const ScratchDirectory directory;
  ONWARD_RETURN_IF_ERROR(ExportFile(model, directory.path("model.onnx")));
  const Graph& graph = model.graph;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const auto it = inputs.find(graph.value(graph.inputs()[i]).name);
    if (it == inputs.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("no input '", graph.value(graph.inputs()[i]).name, "'"));
    }
    ONWARD_RETURN_IF_ERROR(WriteNpy(it->second.tensor(), directory.path(absl::StrCat(i, ".npy"))));
  }
  const std::string command =
      absl::StrCat(Python(), " ", ONWARD_SOURCE_DIR, "/tests/support/run_onnxruntime.py ",
                   directory.path(), " >", directory.path("log"), " 2>&1");
  if (std::system(command.c_str()) != 0) return absl::InternalError(ReadAll(directory.path("log")));
  Session::Outputs outputs;
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    ONWARD_ASSIGN_OR_RETURN(Tensor tensor,
                            ReadNpy(directory.path(absl::StrCat("output_", i, ".npy"))));
    outputs[graph.value(graph.outputs()[i]).name] = Value(std::move(tensor));
  }
  return outputs;
}

}  // namespace onward::testing
