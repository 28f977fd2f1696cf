// onward conformance: runs standard ONNX test cases.
#include <atomic>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <regex>
#include <thread>

#include "absl/strings/str_cat.h"
#include "cli/command.h"
#include "cli/conformance_case.h"
#include "graph/base/machine_memory.h"

namespace onward::cli {
namespace {

struct ConformanceOptions {
  std::vector<std::string> directories;
  std::string filter;
  bool list_failures = false;
};

struct Named {
  std::string root;
  std::string directory;
};

CaseResult RunGuarded(const Named& named, const SessionOptions& options) {
  try {
    return RunCase(named.root, named.directory, options);
  } catch (const std::exception& error) {
    CaseResult result;
    result.name = named.directory;
    result.status = "failed";
    result.reason = absl::StrCat("exception: ", error.what());
    return result;
  }
}

std::vector<CaseResult> RunAll(const std::vector<Named>& cases, const SessionOptions& options,
                               int workers) {
  std::vector<CaseResult> results(cases.size());
  std::atomic<size_t> next{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < workers; ++i) {
    threads.emplace_back([&] {
      for (size_t index = next++; index < cases.size(); index = next++)
        results[index] = RunGuarded(cases[index], options);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

absl::Status Conformance(const ConformanceOptions& options, const CommonOptions& common) {
  std::vector<Named> cases;
  try {
    const std::regex filter(options.filter);
    for (const std::string& root : options.directories) {
      for (const std::string& directory : FindCases(root)) {
        if (options.filter.empty() || std::regex_search(directory, filter))
          cases.push_back({root, directory});
      }
    }
  } catch (const std::regex_error& error) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--filter '", options.filter, "' is not a regular expression: ", error.what()));
  }
  if (cases.empty())
    return absl::NotFoundError(
        "no test case below the given directories (model.onnx beside test_data_set_0)");
  SessionOptions session = common.session();
  session.num_threads = 1;
  session.memory =
      std::make_shared<MemoryLimit>(session.max_memory > 0 ? session.max_memory : MachineMemory());
  const int workers = common.threads > 0 ? common.threads : PhysicalCores();
  const std::vector<CaseResult> results = RunAll(cases, session, workers);
  int passed = 0, failed = 0, skipped = 0;
  nlohmann::json document = {{"cases", nlohmann::json::array()}};
  for (const CaseResult& result : results) {
    passed += result.status == "passed";
    failed += result.status == "failed";
    skipped += result.status == "skipped";
    document["cases"].push_back({{"name", result.name},
                                 {"status", result.status},
                                 {"reason", result.reason},
                                 {"ops", result.ops},
                                 {"dtypes", result.dtypes}});
    const bool shown = (result.status == "failed" && options.list_failures) ||
                       (common.verbose && result.status != "passed");
    if (!common.json && shown)
      std::printf("%s %s: %s\n", result.status.c_str(), result.name.c_str(), result.reason.c_str());
  }
  document["passed"] = passed;
  document["failed"] = failed;
  document["skipped"] = skipped;
  if (common.json) {
    std::printf("%s\n",
                document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  } else {
    std::printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
  }
  return failed == 0
             ? absl::OkStatus()
             : absl::InternalError(absl::StrCat(failed, " of ", results.size(), " cases failed"));
}

}  // namespace

void AddConformance(CommandLine& line, CommonOptions& common) {
  auto options = std::make_shared<ConformanceOptions>();
  Command command = NewCommand(line, common, "conformance", "Runs standard ONNX test cases",
                               "onward conformance cases/node --filter softmax --list-failures");
  command.Option("directories", options->directories, "where to search, at any depth",
                 {.required = true, .existing_directories = true});
  command.Option("--filter", options->filter, "regular expression that a case's path must contain");
  command.Flag("--list-failures", options->list_failures, "print each failed case with its reason");
  command.Do([options, &common] { return Conformance(*options, common); });
}

}  // namespace onward::cli
