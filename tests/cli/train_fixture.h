// A small training of the command: 40 images of 28 x 28 and a config of an MLP.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/idx.h"
#include "tests/support/scratch_directory.h"

namespace onward::testing {

inline std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The lines of a metrics.jsonl.
inline std::vector<nlohmann::json> Metrics(const std::string& output) {
  std::vector<nlohmann::json> lines;
  std::ifstream file(output + "/metrics.jsonl");
  for (std::string line; std::getline(file, line) && !file.eof();)  // eof: it is being written
    lines.push_back(nlohmann::json::parse(line));
  return lines;
}

class TrainCommandTest : public ::testing::Test {
 protected:
  void SetUp() override {
    WriteImages("images", "labels", 1);
    config_ = directory_.Write("train.textproto", R"(
        built { name: "mlp" options { key: "hidden" value: 8 } }
        loss { cross_entropy {} } optimizer { adam { lr: 0.01 } }
        data { mnist { images: "images" labels: "labels" } }
        evaluation { data { mnist { images: "images" labels: "labels" } } every_steps: 20 }
        batch_size: 4 steps: 60 checkpoint { every_steps: 1 } threads: 1
    )");
  }

  void WriteImages(const std::string& images, const std::string& labels, unsigned seed) const {
    std::mt19937 random(seed);
    std::string pixels, classes;
    for (int i = 0; i < 40; ++i) {
      classes += static_cast<char>(i % 10);
      for (int p = 0; p < 784; ++p)
        pixels += static_cast<char>(random() % 60 + (p / 79 == i % 10 ? 150 : 0));
    }
    directory_.Write(images, Idx({40, 28, 28}, pixels));
    directory_.Write(labels, Idx({40}, classes));
  }

  // The exit status of `onward ARGUMENTS` in a shell, or -1 when a signal ended it; log_ is what it
  // printed.
  int Onward(const std::string& arguments) {
    const std::string log = directory_.path("log");
    const int status =
        std::system(absl::StrCat(ONWARD_PROGRAM, " ", arguments, " >", log, " 2>&1").c_str());
    log_ = ReadFile(log);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  int Call(const std::string& arguments) { return Onward("train " + arguments); }

  // Starts `onward ARGUMENTS`, whose output goes to the file `log`.
  // It is killed where the test does not await it.
  pid_t Start(std::vector<std::string> arguments, const std::string& log = "/dev/null") {
    arguments.insert(arguments.begin(), ONWARD_PROGRAM);
    std::vector<char*> argv;
    for (std::string& each : arguments) argv.push_back(each.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    pid_t child = 0;
    EXPECT_EQ(posix_spawn(&child, ONWARD_PROGRAM, &actions, nullptr, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    if (child > 0) started_.insert(child);
    return child;
  }
  // Its exit status, or minus the signal that ended it.
  int Await(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    started_.erase(child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  // Waits until `done`, a minute at most.
  template <typename Done>
  static bool Until(Done&& done) {
    for (int i = 0; i < 6000; ++i) {
      if (done()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  ~TrainCommandTest() override {
    for (const pid_t child : started_) kill(child, SIGKILL);
    for (const pid_t child : started_) waitpid(child, nullptr, 0);
  }

  ScratchDirectory directory_;
  std::string config_, log_;

 private:
  std::set<pid_t> started_;
};

}  // namespace onward::testing
