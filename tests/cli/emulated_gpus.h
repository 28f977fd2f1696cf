// Emulated GPUs (tests/emulated_cuda) for commands that a test starts.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace onward::testing {

class EmulatedGpus {
 public:
  EmulatedGpus() : folder_(std::filesystem::path(ONWARD_PROGRAM).parent_path() / "emulated_cuda") {}
  // The environment is as it was before.
  ~EmulatedGpus() {
    for (const auto& [name, value] : before_) {
      if (value) {
        setenv(name.c_str(), value->c_str(), 1);
      } else {
        unsetenv(name.c_str());
      }
    }
  }
  EmulatedGpus(const EmulatedGpus&) = delete;
  EmulatedGpus& operator=(const EmulatedGpus&) = delete;

  // Returns whether this build has them.
  bool there() const { return std::filesystem::exists(folder_ / "libonward_cuda.so"); }
  // Commands that are started from now on have them. `settings`: "order=late,devices=2".
  // `libraries`: a directory whose libraries come before theirs.
  void Use(const std::string& settings, const std::string& libraries = "") {
    Set("ONWARD_EMULATED_CUDA", settings);
    Set("LD_LIBRARY_PATH",
        libraries.empty() ? folder_.string() : libraries + ":" + folder_.string());
  }

 private:
  void Set(const std::string& name, const std::string& value) {
    const char* before = std::getenv(name.c_str());
    before_.try_emplace(name,
                        before == nullptr ? std::nullopt : std::optional<std::string>(before));
    setenv(name.c_str(), value.c_str(), 1);
  }

  const std::filesystem::path folder_;
  std::map<std::string, std::optional<std::string>> before_;
};

}  // namespace onward::testing
