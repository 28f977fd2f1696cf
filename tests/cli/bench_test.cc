// onward bench: what the machine can do at most is measured with the kernels' own instructions, and
// no kernel does more.
#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/cpu/targets.h"
#include "tests/support/sanitized.h"
#include "tests/support/scratch_directory.h"

namespace onward {
namespace {

std::string Output(const testing::ScratchDirectory& directory, const std::string& arguments) {
  const std::string log = directory.path("log");
  const int status =
      std::system(absl::StrCat(ONWARD_PROGRAM, " bench ", arguments, " >", log, " 2>&1").c_str());
  std::ifstream file(log);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0) << arguments << "\n" << text;
  return text;
}

class BenchCommand : public ::testing::Test {
 protected:
  void SetUp() override {
#if defined(ONWARD_SANITIZED) || !defined(NDEBUG)
    GTEST_SKIP() << "instrumented code measures nothing";
#endif
  }

  nlohmann::json Bench(const std::string& arguments) {
    return nlohmann::json::parse(
        Output(directory_, absl::StrCat(arguments, " --threads 1 --duration 0.2 --json")), nullptr,
        false);
  }

  testing::ScratchDirectory directory_;
};

TEST_F(BenchCommand, NoKernelPassesThePeak) {
  const std::vector<std::string> cases = {
      "MatMul --shape 96x64 --shape 64x128",
      "MatMul --shape 512x512 --shape 512x512",
      "MatMul --shape 1x768 --shape 768x768",
      "MatMul --shape 256x1024 --shape 1024x256 --precision fast",
      "MatMul --shape float64:256x256 --shape float64:256x256",
      "MatMul --shape float16:256x256 --shape float16:256x256",
      "MatMul --shape bfloat16:256x256 --shape bfloat16:256x256",
      "MatMulInteger --shape uint8:512x512 --shape int8:512x512",
      "MatMulInteger --shape uint8:64x64 --shape uint8:64x64",
      "Gemm --shape 256x512 --shape 512x256 --shape 256 --attribute transA=0",
      "Conv --shape 1x64x56x56 --shape 64x64x3x3 --attribute pads=1,1,1,1",
      "Conv --shape 1x512x7x7 --shape 512x512x3x3 --attribute pads=1,1,1,1",
      "Conv --shape 1x64x8x8 --shape 64x64x5x5 --attribute pads=2,2,2,2",
      "Conv --shape 1x32x112x112 --shape 32x1x3x3 --attribute pads=1,1,1,1 --attribute group=32",
      "Conv --shape 1x3x224x224 --shape 64x3x7x7 --attribute pads=3,3,3,3 --attribute strides=2,2",
      "ConvTranspose --shape 1x64x14x14 --shape 64x64x4x4 --attribute pads=1,1,1,1 "
      "--attribute strides=2,2",
      "LSTM --shape 50x1x256 --shape 1x1024x256 --shape 1x1024x256 --attribute hidden_size=256",
      "Relu --shape 2048",
      "Relu --shape 64x1024",
      "Relu --shape 4096x1024",
      "Relu --shape float16:512x1024",
      "Add --shape 4096 --shape 4096",
      "Add --shape 1024x1024 --shape 1024x1024",
      "Add --shape 1024x1024 --shape 1",
      "Mul --shape float64:512x512 --shape float64:512x512",
      "Softmax --shape 256x1024",
      "ReduceSum --shape 1024x1024",
      "ReduceMax --shape 16x1024",
      "Transpose --shape 1024x1024 --attribute perm=1,0",
      "Concat --shape 512x1024 --shape 512x1024 --attribute axis=0",
      "Gather --shape 4096x1024 --shape int64:8",
      "Slice --shape 1024x1024 --shape int64:=0,0 --shape int64:=16,16",
      "MaxPool --shape 1x64x112x112 --attribute kernel_shape=3,3 --attribute strides=2,2",
      "GlobalAveragePool --shape 1x512x28x28",
      "Cast --shape 1024x1024 --attribute to=10",
      "Identity --shape 1024x1024",
      "Shape --shape 4096x4096",
      "Erf --shape 256x1024",
  };
  for (const std::string& each : cases) {
    SCOPED_TRACE(each);
    // A kernel above the peak is so each time; a neighbour that slows down one measurement is not.
    double arithmetic = 2, memory = 2;
    std::string last;
    for (int round = 0; round < 5 && (arithmetic > 1 || memory > 1); ++round) {
      const nlohmann::json document = Bench("--op " + each);
      ASSERT_TRUE(document.is_object());
      const auto& peak = document["peak"];
      arithmetic = std::min(arithmetic, peak["arithmetic_share"].get<double>());
      memory = std::min(memory, peak["memory_share"].get<double>());
      last = peak.dump();
    }
    EXPECT_LE(arithmetic, 1.0) << last;
    EXPECT_LE(memory, 1.0) << last;
  }
}

TEST_F(BenchCommand, PeaksByDataTypeAndLevel) {
  nlohmann::json document;
  // The ratios to float32. Other work on the machine may slow one measurement down.
  double float64 = 0, int8 = 0;
  for (int round = 0; round < 5 && (std::abs(float64 - 0.5) > 0.15 || int8 <= 0.9); ++round) {
    document =
        nlohmann::json::parse(Output(directory_, "--peak --threads 1 --json"), nullptr, false);
    ASSERT_TRUE(document.is_object());
    const auto& measured = document["gflops"];
    float64 = measured["float64"].get<double>() / measured["float32"].get<double>();
    int8 = measured["int8"].get<double>() / measured["float32"].get<double>();
  }
  const auto& gflops = document["gflops"];
  EXPECT_GT(gflops["float32"].get<double>(), 1);
  EXPECT_NEAR(float64, 0.5, 0.15);
  EXPECT_GT(int8, 0.9);
  EXPECT_EQ(gflops.contains("bfloat16"),
            (kernels::cpu::AllowedTargets() & kernels::cpu::kBf16Targets) != 0);
  const auto& levels = document["memory"];
  ASSERT_GE(levels.size(), 2u);
  EXPECT_EQ(levels.front()["level"], "L1");
  EXPECT_EQ(levels.back()["level"], "memory");
  EXPECT_GT(levels.front()["gbytes_per_s"]["read"].get<double>(),
            2 * levels.back()["gbytes_per_s"]["read"].get<double>());
  for (const auto& level : levels)
    for (const auto& rate : level["gbytes_per_s"]) EXPECT_GT(rate.get<double>(), 0.1);
  EXPECT_THAT(Output(directory_, "--peak --threads 1"),
              ::testing::ContainsRegex("float32 [0-9.]+ "));
}

}  // namespace
}  // namespace onward
