#include "tests/support/onnxruntime.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "files/npy.h"
#include "onward/export.h"
#include "onward/status.h"
#include "tests/support/scratch_directory.h"

namespace onward::testing {
namespace {

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

absl::Status WriteCall(const Model& model, const Session::Inputs& inputs,
                       const ScratchDirectory& directory) {
  ONWARD_RETURN_IF_ERROR(ExportFile(model, directory.path("model.onnx")));
  const Graph& graph = model.graph;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const auto it = inputs.find(graph.value(graph.inputs()[i]).name);
    if (it == inputs.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("no input '", graph.value(graph.inputs()[i]).name, "'"));
    }
    ONWARD_RETURN_IF_ERROR(
        files::WriteNpy(it->second.tensor(), directory.path(absl::StrCat(i, ".npy"))));
  }
  return absl::OkStatus();
}

absl::StatusOr<Session::Outputs> ReadOutputs(const Graph& graph,
                                             const ScratchDirectory& directory) {
  const std::string error = ReadAll(directory.path("error"));
  if (!error.empty()) return absl::InternalError(error);
  Session::Outputs outputs;
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    ONWARD_ASSIGN_OR_RETURN(Tensor tensor,
                            files::ReadNpy(directory.path(absl::StrCat("output_", i, ".npy"))));
    outputs[graph.value(graph.outputs()[i]).name] = Value(std::move(tensor));
  }
  return outputs;
}

}  // namespace

std::string OnnxRuntimePython() {
  const char* peers = std::getenv("ONWARD_PEERS");
  const char* home = std::getenv("HOME");
  const std::string folder =
      peers != nullptr ? peers : absl::StrCat(home == nullptr ? "" : home, "/.cache/onward/peers");
  return folder + "/onnxruntime/bin/python";
}

bool HasOnnxRuntime() { return std::filesystem::exists(OnnxRuntimePython()); }

std::vector<absl::StatusOr<Session::Outputs>> RunInOnnxRuntime(
    const std::vector<OnnxRuntimeCall>& calls) {
  const std::vector<ScratchDirectory> directories(calls.size());
  std::vector<absl::Status> written;
  const ScratchDirectory own;
  std::string command = absl::StrCat(OnnxRuntimePython(), " ", ONWARD_SOURCE_DIR,
                                     "/tests/support/run_onnxruntime.py");
  for (size_t i = 0; i < calls.size(); ++i) {
    written.push_back(WriteCall(calls[i].model, calls[i].inputs, directories[i]));
    if (written.back().ok()) absl::StrAppend(&command, " ", directories[i].path());
  }
  absl::StrAppend(&command, " >", own.path("log"), " 2>&1");
  const bool ran = std::system(command.c_str()) == 0;
  std::vector<absl::StatusOr<Session::Outputs>> results;
  for (size_t i = 0; i < calls.size(); ++i) {
    if (!written[i].ok()) {
      results.emplace_back(written[i]);
      continue;
    }
    results.push_back(ReadOutputs(calls[i].model.graph, directories[i]));
    if (!ran && !results[i].ok() && ReadAll(directories[i].path("error")).empty())
      results[i] = absl::InternalError(ReadAll(own.path("log")));
  }
  return results;
}

absl::StatusOr<Session::Outputs> RunInOnnxRuntime(const Model& model,
                                                  const Session::Inputs& inputs) {
  return RunInOnnxRuntime({{model, inputs}})[0];
}

}  // namespace onward::testing
