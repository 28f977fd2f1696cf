// Real models, cut off and corrupted: each is read or refused, without a crash or a hang, and a
// refused one takes no more memory than twice its size and 64 MB. ONWARD_FUZZ_SEED draws others;
// ONWARD_FUZZ_TRACE=file keeps the last one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "onward/import.h"
#include "tests/corrupted/heap_peak.h"
#include "tests/fuzz/capped_run.h"
#include "tests/fuzz/hang.h"
#include "tests/support/test_data.h"

namespace onward::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr int kShards = 10;
constexpr int kTruncations = 1000, kMutations = 10000;
constexpr int64_t kFreeBytes = int64_t{64} << 20;
constexpr uintmax_t kLargestModel = 64 << 10;

struct NamedModel {
  std::string name;
  std::string bytes;
};

std::string Read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The repository's model and, where the standard's cases are, every 25th of them and the networks
// among them, whose weights are made while they run.
std::vector<NamedModel> ReadModels() {
  std::vector<NamedModel> models;
  const fs::path digits = fs::path(ONWARD_SOURCE_DIR) / "examples/mnist/mnist-8.onnx";
  models.push_back({"mnist-8", Read(digits)});
  const std::string cases = onward::testing::DirectoryFrom("ONWARD_CONFORMANCE");
  if (cases.empty() || !fs::exists(cases)) return models;
  std::set<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(cases)) {
    if (entry.path().filename() == "model.onnx" && entry.file_size() <= kLargestModel) {
      paths.insert(entry.path());
    }
  }
  size_t index = 0;
  for (const fs::path& path : paths) {
    const std::string name = path.parent_path().filename().string();
    if (index++ % 25 == 0 || name.starts_with("light_")) models.push_back({name, Read(path)});
  }
  return models;
}

const std::vector<NamedModel>& Models() {
  static const auto* models = new std::vector<NamedModel>(ReadModels());
  return *models;
}

void Check(const std::string& bytes, uint64_t decisions, const std::string& what) {
  if (const char* trace = std::getenv("ONWARD_FUZZ_TRACE")) {
    std::ofstream(trace, std::ios::binary) << bytes;
  }
  const HangGuard guard(what);
  StartHeapPeak();
  const absl::Status status = ImportBytes(bytes).status();
  const int64_t peak = HeapPeak();
  if (status.ok()) {
    FuzzBytes drawn(reinterpret_cast<const uint8_t*>(&decisions), sizeof(decisions));
    CappedImportAndRun(bytes, drawn);
  } else {
    EXPECT_LE(peak, 2 * static_cast<int64_t>(bytes.size()) + kFreeBytes) << what << status;
    EXPECT_FALSE(status.message().empty()) << what;
  }
}

void Mutate(std::mt19937_64& random, std::string& bytes) {
  if (bytes.empty()) return;
  const size_t at = random() % bytes.size();
  const size_t count = std::min<size_t>(bytes.size() - at, 1 + random() % 16);
  switch (random() % 7) {
    case 0:
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
      break;
    case 1:
      bytes[at] = static_cast<char>(random());
      break;
    case 2:
      bytes.erase(at, count);
      break;
    case 3:
      bytes.insert(at, bytes.substr(random() % bytes.size(), count));
      break;
    case 4:  // a number at the edge of what 64 bits hold
      bytes.replace(at, std::min<size_t>(count, 10), "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
      break;
    case 5:
      bytes[at] = static_cast<char>(bytes[at] + (random() % 2 == 0 ? 1 : -1));
      break;
    default: {  // a piece of another model
      const std::string& other = Models()[random() % Models().size()].bytes;
      bytes.replace(at, count, other.substr(random() % other.size(), 1 + random() % 64));
    }
  }
}

uint64_t Seed() {
  const char* seed = std::getenv("ONWARD_FUZZ_SEED");
  return seed == nullptr ? 1 : static_cast<uint64_t>(std::atoll(seed));
}

class CorruptedModelsTest : public ::testing::TestWithParam<int> {
 protected:
  // Draws `count` models of this shard; `corrupt` changes their bytes.
  template <typename F>
  void ForEachDrawn(int count, F&& corrupt) {
    for (int draw = GetParam(); draw < count; draw += kShards) {
      std::mt19937_64 random(Seed() * 1000003 + static_cast<uint64_t>(draw));
      const NamedModel& model = Models()[random() % Models().size()];
      std::string bytes = model.bytes;
      corrupt(random, bytes);
      const uint64_t decisions = random();
      Check(bytes, decisions,
            absl::StrCat("seed ", Seed(), " draw ", draw, ", ", model.name, ": "));
      if (HasFailure()) return;
    }
  }
};

TEST_P(CorruptedModelsTest, CutOff) {
  ForEachDrawn(kTruncations, [](std::mt19937_64& random, std::string& bytes) {
    bytes.resize(random() % bytes.size());
  });
}

TEST_P(CorruptedModelsTest, Mutated) {
  ForEachDrawn(kMutations, [](std::mt19937_64& random, std::string& bytes) {
    const uint64_t changes = 1 + random() % 6;
    for (uint64_t i = 0; i < changes; ++i) Mutate(random, bytes);
  });
}

std::string Field(char tag, const std::string& content) {
  std::string bytes(1, tag);
  for (uint64_t size = content.size();; size >>= 7) {
    bytes.push_back(static_cast<char>((size & 0x7f) | (size >= 0x80 ? 0x80 : 0)));
    if (size < 0x80) return bytes + content;
  }
}

std::string Repeated(const std::string& piece, int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes += piece;
  return bytes;
}

// Few bytes that parsing would make many of.
TEST(ExpandingModelsTest, AreRefusedInLittleMemory) {
  const std::string header = "\x08\x0a" + Field('\x42', "\x10\x15");  // IR 10, opset 21
  const std::string node = Field('\x0a', "");                         // of a graph
  const std::string nodes_of_one_input = Field('\x0a', Field('\x0a', ""));
  const std::string attribute = Field('\x2a', "");  // of a node
  const std::string name = Field('\x0a', "");       // an input of a node
  const std::string tensor = Field('\x2a', "");     // an initializer of a graph
  const std::string value = Field('\x5a', "");      // an input of a graph
  for (int count : {1000, 100000, 300000, 2000000}) {
    for (const std::string& graph :
         {Repeated(node, count), Repeated(nodes_of_one_input, count),
          Field('\x0a', Repeated(attribute, count)), Field('\x0a', Repeated(name, count)),
          Repeated(tensor, count), Repeated(value, count)}) {
      Check(header + Field('\x3a', graph), 0, absl::StrCat(count, " parts "));
    }
    Check(header + Repeated(Field('\x72', ""), count), 0, absl::StrCat(count, " metadata "));
    Check(header + Repeated(Field('\x42', ""), count), 0, absl::StrCat(count, " opsets "));
  }
}

INSTANTIATE_TEST_SUITE_P(Shard, CorruptedModelsTest, ::testing::Range(0, kShards));

}  // namespace
}  // namespace onward::fuzz
