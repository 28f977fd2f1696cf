// onward version: what this build is.
#include <onnx/defs/schema.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "graph/ops/opset.h"
#include "kernels/cpu/targets.h"
#include "onward/import.h"

namespace onward::cli {
namespace {

std::string CpuFeatures() {
#if defined(__x86_64__)
  constexpr std::string_view kArchitecture = "x86-64 ";
#elif defined(__aarch64__)
  constexpr std::string_view kArchitecture = "aarch64 ";
#else
  constexpr std::string_view kArchitecture = "";
#endif
  return std::string(kArchitecture) + kernels::cpu::TargetNames(kernels::cpu::DetectedTargets());
}

absl::Status Version(const CommonOptions& common) {
  const nlohmann::json document = {{"version", ONWARD_VERSION},  {"revision", ONWARD_REVISION},
                                   {"onnx", "1.23.2"},           {"opset", kOpset},
                                   {"ml_opset", kMlOpset},       {"cpu", CpuFeatures()},
#ifdef ONWARD_CUDA
                                   {"cuda", ONWARD_CUDA_VERSION}
#else
                                   {"cuda", "built without CUDA"}
#endif
  };
  if (common.json) {
    std::printf("%s\n", document.dump(2).c_str());
    return absl::OkStatus();
  }
  std::printf("onward %s (%s)\nONNX 1.23.2, opset %d, ai.onnx.ml %d\nCPU: %s\nCUDA: %s\n",
              ONWARD_VERSION, ONWARD_REVISION, static_cast<int>(kOpset), static_cast<int>(kMlOpset),
              CpuFeatures().c_str(), document["cuda"].get<std::string>().c_str());
  return absl::OkStatus();
}

}  // namespace

void AddVersion(CommandLine& line, CommonOptions& common) {
  Command command =
      NewCommand(line, common, "version", "Prints what this build is", "onward version --json");
  command.Do([&common] { return Version(common); });
}

}  // namespace onward::cli
