// Every harness on its corpus (inputs that once failed are there) and on drawn inputs. Replays one
// file: ONWARD_FUZZ_INPUT=file onward_fuzz_test --gtest_filter='*/npy'; draws more with
// ONWARD_FUZZ_DRAWS and others with ONWARD_FUZZ_SEED; ONWARD_FUZZ_TRACE=file keeps the last one,
// ONWARD_FUZZ_PRINT=1 prints the models that are made. ONWARD_FUZZ_CORPUS=directory has more
// inputs, in a folder for each harness.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <vector>

#include "tests/fuzz/hang.h"
#include "tests/fuzz/harnesses.h"

namespace onward::fuzz {
namespace {

namespace fs = std::filesystem;

int64_t FromEnvironment(const char* variable, int64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoll(text);
}

std::vector<uint8_t> Read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class ReplayTest : public ::testing::TestWithParam<Harness> {
 protected:
  void RunOn(const std::vector<uint8_t>& input, const std::string& what) {
    const HangGuard guard(what);
    GetParam().run(input.data(), input.size());
  }
};

TEST_P(ReplayTest, Corpus) {
  if (const char* input = std::getenv("ONWARD_FUZZ_INPUT")) return RunOn(Read(input), input);
  RunOn({}, "no bytes");
  std::vector<fs::path> corpora = {fs::path(ONWARD_SOURCE_DIR) / "tests/fuzz/corpus"};
  if (const char* more = std::getenv("ONWARD_FUZZ_CORPUS")) corpora.emplace_back(more);
  for (const fs::path& corpus : corpora) {
    const fs::path folder = corpus / GetParam().name;
    if (!fs::exists(folder)) continue;
    int count = 0;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      RunOn(Read(entry.path()), entry.path().string());
      ++count;
    }
    std::printf("%d inputs of %s\n", count, folder.c_str());
  }
}

TEST_P(ReplayTest, Drawn) {
  const int64_t seed = FromEnvironment("ONWARD_FUZZ_SEED", 1);
  const int64_t draws = FromEnvironment("ONWARD_FUZZ_DRAWS", 500);
  const char* trace = std::getenv("ONWARD_FUZZ_TRACE");
  std::printf("seed %ld, %ld draws\n", static_cast<long>(seed), static_cast<long>(draws));
  for (int64_t draw = 0; draw < draws; ++draw) {
    std::mt19937_64 random(static_cast<uint64_t>(seed * 1000003 + draw));
    std::vector<uint8_t> input(64 + random() % 512);
    for (uint8_t& byte : input) byte = static_cast<uint8_t>(random());
    if (trace != nullptr) {
      std::ofstream(trace, std::ios::binary)
          .write(reinterpret_cast<const char*>(input.data()),
                 static_cast<std::streamsize>(input.size()));
    }
    RunOn(input, "draw " + std::to_string(draw));
    if (HasFailure()) break;
  }
}

INSTANTIATE_TEST_SUITE_P(Fuzz, ReplayTest, ::testing::ValuesIn(kHarnesses),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace onward::fuzz
