#include "cli/command.h"

#include <algorithm>
#include <cstdint>

namespace onward::cli {

SessionOptions CommonOptions::session() const {
  SessionOptions options;
  options.provider = provider;
  options.num_threads = threads;
  options.precision = precision == "strict" ? Precision::kStrict
                      : precision == "fast" ? Precision::kFast
                                            : Precision::kDefault;
  options.seed = seed;
  options.max_memory = static_cast<int64_t>(std::min<uint64_t>(max_memory, INT64_MAX));
  options.deterministic = deterministic;
  return options;
}

CLI::App* NewCommand(CLI::App& app, CommonOptions& common, const std::string& name,
                     const std::string& summary, const std::string& example) {
  CLI::App* command = app.add_subcommand(name, summary);
  command->footer("Example:\n  " + example);
  command->add_option("--provider", common.provider, "where to run: cpu or cuda")
      ->check(CLI::IsMember({"cpu", "cuda"}));
  command->add_option("--threads", common.threads, "threads (default: the physical cores)")
      ->check(CLI::Range(1, 1024));
  command->add_option("--precision", common.precision, "strict, default or fast")
      ->check(CLI::IsMember({"strict", "default", "fast"}));
  command
      ->add_option("--max-memory", common.max_memory,
                   "bytes of tensors at a time, as 512MB (default: the machine's)")
      ->transform(CLI::AsSizeValue(false));
  command->add_option("--seed", common.seed, "seed of every random stream");
  command->add_flag("--deterministic", common.deterministic, "equal results on every run");
  command
      ->add_option("--custom-ops", common.custom_ops,
                   "shared library with operators of your own; may be given again")
      ->take_all();
  command->add_flag("--verbose", common.verbose, "say more on stderr");
  command->add_flag("--json", common.json, "print one JSON document");
  return command;
}

}  // namespace onward::cli
