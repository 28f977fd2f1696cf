// Files of machine code: used whole or not at all, and only where they are the user's.
#include "kernels/cuda/code_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace onward::kernels::cuda {
namespace {

namespace fs = std::filesystem;

class CodeCache : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "code_cache_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    Name("ONWARD_KERNEL_CACHE", (folder_ / "kernels").c_str());
  }
  void TearDown() override {
    fs::remove_all(folder_);
    for (const auto& [name, value] : before_) {
      if (value.has_value()) {
        setenv(name.c_str(), value->c_str(), 1);
      } else {
        unsetenv(name.c_str());
      }
    }
  }

  // Null: the variable is not set.
  void Name(const std::string& variable, const char* value) {
    const char* before = std::getenv(variable.c_str());
    before_.emplace(variable,
                    before == nullptr ? std::nullopt : std::optional<std::string>(before));
    if (value == nullptr) {
      unsetenv(variable.c_str());
    } else {
      setenv(variable.c_str(), value, 1);
    }
  }

  std::vector<fs::path> Files() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder_ / "kernels"))
      files.push_back(entry.path());
    return files;
  }
  // The one file after a code was written.
  fs::path Written() {
    directory_ = CodeCacheDirectory();
    EXPECT_TRUE(WriteCode(directory_, "key", code_).ok());
    EXPECT_EQ(Files().size(), 1u);
    return Files()[0];
  }

  fs::path folder_;
  std::string directory_;
  const std::string code_ = std::string("machine\0code", 12);
  std::map<std::string, std::optional<std::string>> before_;
};

TEST_F(CodeCache, GivesBackWhatWasWrittenForTheKey) {
  Written();
  EXPECT_EQ(ReadCode(directory_, "key"), code_);
  EXPECT_EQ(ReadCode(directory_, "other"), std::nullopt);
  ASSERT_TRUE(WriteCode(directory_, "key", "newer").ok());
  EXPECT_EQ(ReadCode(directory_, "key"), "newer");
  EXPECT_EQ(Files().size(), 1u);
}

TEST_F(CodeCache, UsesNoPartOfADamagedFile) {
  const fs::path path = Written();
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  const std::string whole = bytes.str();
  for (size_t size = 0; size < whole.size(); ++size) {
    std::ofstream(path, std::ios::binary) << whole.substr(0, size);
    EXPECT_EQ(ReadCode(directory_, "key"), std::nullopt) << "of the first " << size << " bytes";
  }
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    std::ofstream(path, std::ios::binary) << changed;
    EXPECT_EQ(ReadCode(directory_, "key"), std::nullopt) << "with byte " << at << " changed";
  }
  std::ofstream(path, std::ios::binary) << whole << "more";
  EXPECT_EQ(ReadCode(directory_, "key"), std::nullopt);
  std::ofstream(path, std::ios::binary) << whole;
  EXPECT_EQ(ReadCode(directory_, "key"), code_);
}

TEST_F(CodeCache, ReadsNoFileThatOthersMayWrite) {
  const fs::path path = Written();
  chmod(path.c_str(), 0620);
  EXPECT_EQ(ReadCode(directory_, "key"), std::nullopt);
  chmod(path.c_str(), 0600);
  EXPECT_EQ(ReadCode(directory_, "key"), code_);
  fs::rename(path, folder_ / "elsewhere");
  fs::create_symlink(folder_ / "elsewhere", path);
  EXPECT_EQ(ReadCode(directory_, "key"), std::nullopt);
}

TEST_F(CodeCache, IsOffInADirectoryThatOthersMayWrite) {
  fs::create_directory(folder_ / "kernels");
  chmod((folder_ / "kernels").c_str(), 0777);
  EXPECT_EQ(CodeCacheDirectory(), "");
  chmod((folder_ / "kernels").c_str(), 0755);
  EXPECT_EQ(CodeCacheDirectory(), (folder_ / "kernels").string());
  EXPECT_TRUE(WriteCode("", "key", code_).ok());
  EXPECT_EQ(ReadCode("", "key"), std::nullopt);
}

TEST_F(CodeCache, LiesWhereTheUserKeepsCaches) {
  Name("ONWARD_KERNEL_CACHE", "");
  EXPECT_EQ(CodeCacheDirectory(), "");
  Name("ONWARD_KERNEL_CACHE", nullptr);
  Name("XDG_CACHE_HOME", (folder_ / "caches").c_str());
  Name("HOME", folder_.c_str());
  EXPECT_EQ(CodeCacheDirectory(), (folder_ / "caches/onward/kernels").string());
  Name("XDG_CACHE_HOME", nullptr);
  EXPECT_EQ(CodeCacheDirectory(), (folder_ / ".cache/onward/kernels").string());
  Name("HOME", "relative");
  EXPECT_EQ(CodeCacheDirectory(), "");
}

}  // namespace
}  // namespace onward::kernels::cuda
