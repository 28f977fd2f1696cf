// onward train where the disk is full or the output directory goes away.
#include <sys/mount.h>

#include "tests/cli/train_fixture.h"

namespace onward {
namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using testing::Metrics;
using testing::ReadFile;
using testing::TrainCommandTest;

// A disk of its own, where the test may mount one.
class Disk {
 public:
  Disk(const std::string& path, int kilobytes) : path_(path) {
    fs::create_directory(path);
    const std::string size = absl::StrCat("size=", kilobytes, "k");
    mounted_ = mount("onward_test", path.c_str(), "tmpfs", 0, size.c_str()) == 0;
  }
  ~Disk() {
    if (mounted_) umount2(path_.c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }
  // Takes all that is free but for `kilobytes`.
  void Fill(int kilobytes) const {
    const auto free = fs::space(path_).available;
    const auto left = static_cast<uintmax_t>(kilobytes) * 1024;
    if (free <= left) return;
    std::ofstream(path_ + "/filler", std::ios::app) << std::string(free - left, 'x');
  }
  void Empty() const { fs::remove(path_ + "/filler"); }

 private:
  std::string path_;
  bool mounted_ = false;
};

// A checkpoint is some 80 kB, the model 27 kB.
class TrainDiskTest : public TrainCommandTest {
 protected:
  void SetUp() override {
    TrainCommandTest::SetUp();
    arguments_ = absl::StrCat(config_, " --set evaluation= --set checkpoint.wait_seconds=1 ");
    ASSERT_EQ(Call(absl::StrCat(arguments_, "--output-dir ", directory_.path("whole"))), 0);
    want_ = ReadFile(directory_.path("whole/model.onnx"));
  }
  static std::vector<std::string> Checkpoints(const std::string& output) {
    std::vector<std::string> names;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(output + "/checkpoints", error))
      if (entry.path().filename() != ".lock") names.push_back(entry.path().filename());
    return names;
  }

  std::string arguments_, want_;
};

TEST_F(TrainDiskTest, OlderCheckpointsGiveWayToTheNewest) {
  const std::string place = directory_.path("disk");
  // Room for one checkpoint and most of a second, then for two and a part, ...
  for (const int kilobytes : {200, 260, 320}) {
    SCOPED_TRACE(kilobytes);
    const Disk disk(place, kilobytes);
    if (!disk.mounted()) GTEST_SKIP() << "no file system may be mounted here";
    EXPECT_EQ(
        Call(absl::StrCat(arguments_, "--set checkpoint.keep=5 --output-dir ", place, "/out")), 0)
        << log_;
    EXPECT_THAT(log_, HasSubstr("gave way to that of step"));
    EXPECT_EQ(ReadFile(place + "/out/model.onnx"), want_);
    EXPECT_EQ(Call(absl::StrCat(arguments_, "--resume --output-dir ", place, "/out")), 0) << log_;
    EXPECT_THAT(log_, HasSubstr("resuming after step 60 of 60"));
  }
}

// The only whole checkpoint is not what gives way; what says so is not 0, unless the model is
// there.
TEST_F(TrainDiskTest, TheOnlyWholeOneStays) {
  const std::string place = directory_.path("disk"), output = place + "/out";
  const Disk disk(place, 300);
  if (!disk.mounted()) GTEST_SKIP() << "no file system may be mounted here";
  ASSERT_EQ(Call(absl::StrCat(arguments_, "--set checkpoint.keep=1 --set steps=20 --output-dir ",
                              output)),
            0)
      << log_;
  fs::remove(output + "/model.onnx");
  disk.Fill(16);
  EXPECT_EQ(Call(absl::StrCat(arguments_, "--resume --output-dir ", output)), 1);
  EXPECT_THAT(log_,
              HasSubstr("trying again for 1 s: a checkpoint needs about 0.1 MB, the disk of"));
  EXPECT_THAT(log_, HasSubstr("error: the trained model was not written, nor was the checkpoint "
                              "of step 60"));
  ASSERT_EQ(Checkpoints(output).size(), 1u);
  EXPECT_THAT(Checkpoints(output)[0], HasSubstr("-step-20"));
  disk.Empty();
  EXPECT_EQ(Call(absl::StrCat(arguments_, "--resume --output-dir ", output)), 0) << log_;
  EXPECT_EQ(ReadFile(output + "/model.onnx"), want_);
}

TEST_F(TrainDiskTest, RoomThatComesInTimeIsTaken) {
  const std::string place = directory_.path("disk"), output = place + "/out";
  const Disk disk(place, 400);
  if (!disk.mounted()) GTEST_SKIP() << "no file system may be mounted here";
  disk.Fill(16);
  const std::string log = directory_.path("log");
  const pid_t child = Start({"train", config_, "--set", "evaluation=", "--set",
                             "checkpoint.wait_seconds=60", "--output-dir", output},
                            log);
  ASSERT_TRUE(Until([&] { return ReadFile(log).find("trying again") != std::string::npos; }));
  disk.Empty();
  EXPECT_EQ(Await(child), 0) << ReadFile(log);
  EXPECT_EQ(ReadFile(output + "/model.onnx"), want_);
  ASSERT_EQ(Checkpoints(output).size(), 1u);
  EXPECT_THAT(Checkpoints(output)[0], HasSubstr("-step-60"));
}

TEST_F(TrainDiskTest, ASecondDirectoryTakesWhatFindsNoRoom) {
  const std::string place = directory_.path("disk"), output = place + "/out";
  const std::string second = directory_.path("second");
  const Disk disk(place, 400);
  if (!disk.mounted()) GTEST_SKIP() << "no file system may be mounted here";
  const std::string to = absl::StrCat(arguments_, "--set checkpoint.keep=1 --second-dir ", second,
                                      " --output-dir ", output);
  ASSERT_EQ(Call(absl::StrCat(to, " --set steps=20")), 0) << log_;
  EXPECT_FALSE(fs::exists(second));
  fs::remove(output + "/model.onnx");
  disk.Fill(8);
  EXPECT_EQ(Call(absl::StrCat(to, " --resume --set steps=40")), 0) << log_;
  EXPECT_THAT(log_, HasSubstr(absl::StrCat("the model is '", second, "/model.onnx'")));
  EXPECT_THAT(log_, HasSubstr(absl::StrCat(" is '", second, "/checkpoints/")));
  // A checkpoint there lets an older one go, which may make room for the next here.
  EXPECT_EQ(Checkpoints(output).size() + Checkpoints(second).size(), 1u);
  // From there it is resumed, whether there is room again or not.
  disk.Empty();
  EXPECT_EQ(Call(absl::StrCat(to, " --resume")), 0) << log_;
  EXPECT_THAT(log_, HasSubstr("resuming after step 40 of 60"));
  EXPECT_EQ(ReadFile(output + "/model.onnx"), want_);
  // Another training does not take it.
  EXPECT_EQ(Call(absl::StrCat(arguments_, "--second-dir ", second, " --output-dir ",
                              directory_.path("other"))),
            1);
  EXPECT_THAT(log_, HasSubstr("second' holds a training"));
}

TEST_F(TrainDiskTest, AnOutputDirectoryThatIsRemovedComesBack) {
  const std::string output = directory_.path("out"), log = directory_.path("log");
  const pid_t child =
      Start({"train", config_, "--set", "evaluation=", "--set", "steps=3000", "--set",
             "log.tensorboard=true", "--set", "checkpoint.every_steps=500", "--output-dir", output},
            log);
  ASSERT_TRUE(Until([&] { return Checkpoints(output).size() > 1; }));
  fs::rename(output, directory_.path("gone"));
  fs::remove_all(directory_.path("gone"));
  EXPECT_EQ(Await(child), 0) << ReadFile(log);
  const auto metrics = Metrics(output);
  ASSERT_EQ(metrics.size(), 3000u);
  for (size_t i = 0; i < metrics.size(); ++i) EXPECT_EQ(metrics[i]["step"], i + 1);
  EXPECT_TRUE(fs::exists(output + "/model.onnx"));
  EXPECT_TRUE(fs::exists(output + "/loss.svg"));
  EXPECT_FALSE(fs::is_empty(output + "/tensorboard"));
  EXPECT_EQ(Call(absl::StrCat(config_, " --set evaluation= --set steps=3000 --resume --output-dir ",
                              output)),
            0)
      << log_;
  EXPECT_THAT(log_, HasSubstr("resuming after step 3000 of 3000"));
}

// Every size that files may have at most: what a training leaves is whole, and resumes to the same.
TEST_F(TrainDiskTest, FilesThatMayNotGrow) {
  for (const int blocks : {1, 8, 40, 56, 100, 170}) {
    SCOPED_TRACE(blocks);
    const std::string output = directory_.path(absl::StrCat("small", blocks));
    const std::string log = directory_.path("log");
    const std::string command =
        absl::StrCat("bash -c \"ulimit -f ", (blocks + 1) / 2, "; ", ONWARD_PROGRAM, " train ",
                     arguments_, " --output-dir ", output, " >/dev/null 2>&1\"");
    const int code = WEXITSTATUS(std::system(command.c_str()));
    EXPECT_THAT(code, AnyOf(0, 1));
    EXPECT_EQ(code == 0, fs::exists(output + "/model.onnx"));
    if (code == 0) {
      EXPECT_EQ(ReadFile(output + "/model.onnx"), want_);
    }
    fs::remove(output + "/model.onnx");
    ASSERT_EQ(Call(absl::StrCat(arguments_, "--resume --output-dir ", output)), 0) << log_;
    EXPECT_EQ(ReadFile(output + "/model.onnx"), want_);
    EXPECT_EQ(Metrics(output).back()["step"], 60);
  }
}

}  // namespace
}  // namespace onward
