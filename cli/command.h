// The subcommands of `onward`: one file each. docs/cli.md is the contract.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "onward/counters.h"
#include "onward/session.h"

namespace onward::cli {

// Options that every command takes.
struct CommonOptions {
  std::string provider = "cpu";
  int threads = 0;
  std::string precision = "default";
  std::string cpu_features;  // a list for ParseTargets; empty: all that the processor has
  std::optional<uint64_t> seed;
  uint64_t max_memory = 0;  // 0: the machine's
  bool deterministic = false;
  bool verbose = false;
  bool json = false;
  std::vector<std::string> custom_ops;  // libraries
  // With --verbose sessions and trainings count with these, which the command prints in the end.
  std::shared_ptr<Counters> counters = std::make_shared<Counters>();

  SessionOptions session() const;
  // The limit that all tensors of the command count against: `max_memory`, or the machine's.
  const std::shared_ptr<MemoryLimit>& memory() const;

 private:
  mutable std::shared_ptr<MemoryLimit> memory_;
};

// Each adds its subcommand.
void AddRun(CommandLine& line, CommonOptions& common);
void AddCompare(CommandLine& line, CommonOptions& common);
void AddInspect(CommandLine& line, CommonOptions& common);
void AddExplain(CommandLine& line, CommonOptions& common);
void AddOptimize(CommandLine& line, CommonOptions& common);
void AddConvert(CommandLine& line, CommonOptions& common);
void AddGradient(CommandLine& line, CommonOptions& common);
void AddConformance(CommandLine& line, CommonOptions& common);
void AddBench(CommandLine& line, CommonOptions& common);
void AddOps(CommandLine& line, CommonOptions& common);
void AddGenerate(CommandLine& line, CommonOptions& common);
void AddEvaluate(CommandLine& line, CommonOptions& common);
void AddPredict(CommandLine& line, CommonOptions& common);
void AddExport(CommandLine& line, CommonOptions& common);
void AddLaunch(CommandLine& line, CommonOptions& common);
void AddServe(CommandLine& line, CommonOptions& common);
void AddClient(CommandLine& line, CommonOptions& common);
void AddTrain(CommandLine& line, CommonOptions& common);
void AddCompletion(CommandLine& line, CommonOptions& common);
void AddVersion(CommandLine& line, CommonOptions& common);

// A subcommand with the common options and an example at the end of its help.
Command NewCommand(CommandLine& line, CommonOptions& common, const std::string& name,
                   const std::string& summary, const std::string& example);

}  // namespace onward::cli
