#include "cli/command.h"

#include <algorithm>
#include <cstdint>

#include "executors/provider.h"
#include "graph/base/machine_memory.h"
#include "kernels/cpu/parse_targets.h"

namespace onward::cli {

SessionOptions CommonOptions::session() const {
  SessionOptions options;
  options.provider = provider;
  options.num_threads = threads;
  options.precision = precision == "strict" ? Precision::kStrict
                      : precision == "fast" ? Precision::kFast
                                            : Precision::kDefault;
  options.seed = seed.value_or(0);
  options.memory = memory();
  options.deterministic = deterministic;
  if (verbose) {
    options.log = LogToStandardError();
    options.counters = counters;
  }
  return options;
}

const std::shared_ptr<MemoryLimit>& CommonOptions::memory() const {
  if (memory_ == nullptr) {
    memory_ = std::make_shared<MemoryLimit>(
        max_memory > 0 ? static_cast<int64_t>(std::min<uint64_t>(max_memory, INT64_MAX))
                       : MachineMemory());
  }
  return memory_;
}

Command NewCommand(CommandLine& line, CommonOptions& common, const std::string& name,
                   const std::string& summary, const std::string& example) {
  Command command = line.Add(name, summary, example);
  command.Option("--provider", common.provider,
                 "where to run: cpu, cuda, or a device by its number: cuda:1",
                 {.one_of = {"cpu", "cuda"}, .check = [](const std::string& name) {
                    return std::string(executors::CheckProviderName(name).message());
                  }});
  command.Option("--threads", common.threads, "threads (default: the physical cores)",
                 {.range = {1, 1024}});
  command.Option("--precision", common.precision, "strict, default or fast",
                 {.one_of = {"strict", "default", "fast"}});
  command.Option("--cpu-features", common.cpu_features,
                 "instruction sets that kernels may use, such as avx2 (default: the processor's)",
                 {.environment = "ONWARD_CPU", .check = [](const std::string& list) {
                    return std::string(kernels::cpu::ParseTargets(list).status().message());
                  }});
  command.Option("--max-memory", common.max_memory,
                 "bytes of tensors at a time, as 512MB or 2GiB (default: the machine's)",
                 {.bytes = true});
  command.Option("--seed", common.seed, "seed of every random stream");
  command.Flag("--deterministic", common.deterministic, "equal results on every run");
  command.Option("--custom-ops", common.custom_ops,
                 "shared library with operators of your own; may be given again");
  command.Flag("--verbose", common.verbose, "say more on stderr");
  command.Flag("--json", common.json, "print one JSON document");
  return command;
}

}  // namespace onward::cli
