// The standard's cases and the model zoo, through the whole path from file to outputs.
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <map>
#include <string>
#include <thread>

#include "cli/conformance_case.h"
#include "tests/support/test_data.h"

namespace onward {
namespace {

std::vector<cli::CaseResult> RunAll(const std::string& root, const std::vector<std::string>& cases,
                                    int num_threads, int workers) {
  SessionOptions options;
  options.num_threads = num_threads;
  std::vector<cli::CaseResult> results(cases.size());
  std::atomic<size_t> next{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < workers; ++i) {
    threads.emplace_back([&] {
      for (size_t index = next++; index < cases.size(); index = next++) {
        results[index] = cli::RunCase(root, cases[index], options);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

// Cases that differ, and why: lines "case: reason" of misses.txt.
std::map<std::string, std::string> KnownMisses() {
  std::ifstream file(std::string(ONWARD_SOURCE_DIR) + "/tests/conformance/misses.txt");
  EXPECT_TRUE(file.good());
  std::map<std::string, std::string> misses;
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.empty() || line[0] == '#') continue;
    EXPECT_NE(colon, std::string::npos) << line;
    misses[line.substr(0, colon)] = line.substr(colon + 2);
  }
  return misses;
}

TEST(Conformance, StandardCases) {
  const std::string root = testing::DirectoryFrom("ONWARD_CONFORMANCE");
  ONWARD_NEEDS_DATA(root, "ONWARD_CONFORMANCE");
  const std::vector<std::string> cases = cli::FindCases(root);
  ASSERT_GE(cases.size(), 2033u);
  const std::map<std::string, std::string> misses = KnownMisses();
  size_t passed = 0;
  for (const cli::CaseResult& result : RunAll(root, cases, 1, 2)) {
    passed += result.status == "passed";
    if (misses.count(result.name)) {
      EXPECT_EQ(result.status, "failed") << result.name << " is listed as a miss";
    } else {
      EXPECT_EQ(result.status, "passed") << result.name << ": " << result.reason;
    }
  }
  RecordProperty("passed", static_cast<int>(passed));
  std::printf("%zu passed of %zu\n", passed, cases.size());
  EXPECT_EQ(passed + misses.size(), cases.size());
}

TEST(Conformance, ModelZoo) {
  const std::string root = testing::DirectoryFrom("ONWARD_ZOO");
  ONWARD_NEEDS_DATA(root, "ONWARD_ZOO");
  for (const std::string& directory : cli::FindCases(root)) {
    SessionOptions options;
    options.num_threads = 2;
    const cli::CaseResult result = cli::RunCase(root, directory, options);
    EXPECT_EQ(result.status, "passed") << result.name << ": " << result.reason;
  }
}

// Small models as converters write them; make_exported.py says what each is about.
TEST(Conformance, ExportedModels) {
  const std::string root = std::string(ONWARD_SOURCE_DIR) + "/tests/conformance/exported";
  const std::vector<std::string> cases = cli::FindCases(root);
  EXPECT_GE(cases.size(), 12u);
  for (const std::string& directory : cases) {
    SessionOptions options;
    for (const bool optimize : {true, false}) {
      options.optimize = optimize;
      const cli::CaseResult result = cli::RunCase(root, directory, options);
      EXPECT_EQ(result.status, "passed") << result.name << ": " << result.reason;
    }
  }
}

}  // namespace
}  // namespace onward
