// onward: runs, inspects, optimises, differentiates, checks and benchmarks ONNX models.
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>

#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/interrupts.h"
#include "kernels/cpu/parse_targets.h"
#include "onward/custom_ops.h"
#include "onward/memory_limit.h"

namespace onward::cli {
namespace {

// The contract asks for one line.
std::string OneLine(std::string text) {
  for (size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at)) {
    const size_t end = text.find_first_not_of(" \n", at);
    text.replace(at, (end == std::string::npos ? text.size() : end) - at,
                 end == std::string::npos ? "" : "; ");
  }
  return text;
}

int Main(int argc, char** argv) {
  EndOnInterrupts();
  // A file that may not grow is an error of the write to it.
  std::signal(SIGXFSZ, SIG_IGN);
  CommandLine line(
      "Onward runs, inspects, optimises, differentiates, checks and benchmarks ONNX models.",
      "onward", "onward run model.onnx --input image=digit.png");
  CommonOptions common;
  for (auto add : {AddRun,         AddCompare,  AddInspect, AddExplain,    AddOptimize,
                   AddConvert,     AddGradient, AddTrain,   AddLaunch,     AddEvaluate,
                   AddPredict,     AddExport,   AddServe,   AddClient,     AddGenerate,
                   AddConformance, AddBench,    AddOps,     AddCompletion, AddVersion})
    add(line, common);
  const CommandLine::Outcome outcome = line.Parse(argc, argv);
  if (outcome != CommandLine::Outcome::kWork)
    return outcome == CommandLine::Outcome::kHelp ? 0 : kWrongUsage;
  if (!common.cpu_features.empty())
    kernels::cpu::LimitTargets(*kernels::cpu::ParseTargets(common.cpu_features));
  const MemoryScope scope(common.memory());
  absl::Status status;
  for (const std::string& library : common.custom_ops) status.Update(LoadCustomOps(library));
  if (status.ok()) status = line.Work();
  for (const auto& [name, value] : common.counters->Read())
    std::fprintf(stderr, "%s: %lld\n", name.c_str(), static_cast<long long>(value));
  if (!status.message().empty())
    std::fprintf(stderr, "error: %s\n", OneLine(std::string(status.message())).c_str());
  return ExitCodeOf(status);
}

}  // namespace
}  // namespace onward::cli

int main(int argc, char** argv) {
  try {
    return onward::cli::Main(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "error: out of memory\n");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
  }
  return 1;
}
