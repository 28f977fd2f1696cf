// The subcommands of `onward`: one file each. docs/cli.md is the contract.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "executors/session.h"

namespace onward::cli {

// Options that every command takes.
struct CommonOptions {
  std::string provider = "cpu";
  int threads = 0;
  std::string precision = "default";
  uint64_t seed = 0;
  uint64_t max_memory = 0;  // 0: the machine's
  bool deterministic = false;
  bool verbose = false;
  bool json = false;
  std::vector<std::string> custom_ops;  // libraries

  SessionOptions session() const;
};

// Does the command's work; set by the parser when its subcommand was named.
using Work = std::function<absl::Status()>;

// Each adds its subcommand to `app` and sets `work` when it is chosen.
void AddRun(CLI::App& app, CommonOptions& common, Work& work);
void AddInspect(CLI::App& app, CommonOptions& common, Work& work);
void AddExplain(CLI::App& app, CommonOptions& common, Work& work);
void AddOptimize(CLI::App& app, CommonOptions& common, Work& work);
void AddConformance(CLI::App& app, CommonOptions& common, Work& work);
void AddBench(CLI::App& app, CommonOptions& common, Work& work);
void AddOps(CLI::App& app, CommonOptions& common, Work& work);
void AddVersion(CLI::App& app, CommonOptions& common, Work& work);

// A subcommand with the common options and an example at the end of its help.
CLI::App* NewCommand(CLI::App& app, CommonOptions& common, const std::string& name,
                     const std::string& summary, const std::string& example);

}  // namespace onward::cli
