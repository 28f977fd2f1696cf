// onward convert: what it writes, and what it refuses.
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "files/npy.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onward/import.h"
#include "tests/support/proto_text.h"
#include "tests/support/scratch_directory.h"

namespace onward {
namespace {

using ::testing::HasSubstr;

const char kText[] =
    "<ir_version: 8, opset_import: [\"\" : 17]>\n"
    "g (float[n,64] x) => (float[n,8] y) <float[8] b = {1, 2, 3, 4, 5, 6, 7, 8}> {"
    "shape = Constant<value = int64[2] {64, 8}>() "
    "w = RandomNormal<shape = [64, 8], seed = 1.0>() h = MatMul(x, w) y = Add(h, b) }";

class ConvertCommandTest : public ::testing::Test {
 protected:
  void SetUp() override { Write(kText); }
  void Write(const std::string& text) {
    model_ = directory_.Write("model.onnx", testing::ProtoFromText(text).SerializeAsString());
    written_ = directory_.path("converted.onnx");
  }
  int Call(const std::string& arguments) {
    const std::string log = directory_.path("log");
    const int status = std::system(absl::StrCat(ONWARD_PROGRAM, " convert ", model_, " -o ",
                                                written_, " ", arguments, " >", log, " 2>&1")
                                       .c_str());
    std::ifstream file(log);
    log_ = {std::istreambuf_iterator<char>(file), {}};
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  int64_t Opset() {
    std::map<std::string, int64_t> opsets;
    ImportOptions options;
    options.opsets = &opsets;
    const auto model = ImportFile(written_, options);
    EXPECT_TRUE(model.ok()) << model.status();
    return opsets[""];
  }

  testing::ScratchDirectory directory_;
  std::string model_, written_, log_;
};

TEST_F(ConvertCommandTest, KeepsTheOpsetUnlessAnotherOneIsAskedFor) {
  ASSERT_EQ(Call(""), 0) << log_;
  EXPECT_EQ(Opset(), 17);
  ASSERT_EQ(Call("--to-opset 13"), 0) << log_;
  EXPECT_EQ(Opset(), 13);
  ASSERT_EQ(Call("--to-opset 28"), 0) << log_;
  EXPECT_EQ(Opset(), 28);
  ASSERT_EQ(Call("--to-opset 21 --json"), 0) << log_;
  EXPECT_THAT(log_, HasSubstr("\"opset\": 21"));
}

TEST_F(ConvertCommandTest, AnOpsetThatIsNotThereOrTooOldIsAnError) {
  EXPECT_EQ(Call("--to-opset 99"), 1);
  EXPECT_THAT(log_, HasSubstr("error: opset 99 cannot be written, only 11 to 28"));
  Write(
      "<ir_version: 10, opset_import: [\"\" : 21]>\n"
      "g (float[n,2] x, int64[1] axes) => (float[n,1] y) { y = ReduceMean(x, axes) }");
  EXPECT_EQ(Call("--to-opset 17"), 1);
  EXPECT_THAT(log_, HasSubstr("[ReduceMean 'y'] needs opset 18, opset 17 is asked for"));
  EXPECT_FALSE(std::filesystem::exists(written_));
}

TEST_F(ConvertCommandTest, ExternalData) {
  Write(
      "<ir_version: 8, opset_import: [\"\" : 17]>\n"
      "g (float[n,2] x) => (float[n,2] y) <float[2,2] w = {1, 2, 3, 4}> { y = MatMul(x, w) }");
  ASSERT_EQ(Call("--external-data"), 0) << log_;
  EXPECT_FALSE(std::filesystem::exists(written_ + ".data"));  // nothing is large
}

TEST_F(ConvertCommandTest, HalfFloats) {
  Write(
      "<ir_version: 8, opset_import: [\"\" : 17]>\n"
      "g (float[n,2] x) => (float[n,2] y) <float[2,2] w = {1, 2, 3, 4}> { y = MatMul(x, w) }");
  ASSERT_EQ(Call("--float16"), 0) << log_;
  EXPECT_THAT(log_, HasSubstr("1 nodes compute in float16, 0 stay in float32 for their range"));
  const auto model = ImportFile(written_);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->graph.type(model->graph.FindValue("w")).dtype, DType::kFloat16);
  EXPECT_EQ(model->graph.type(model->graph.inputs()[0]).dtype, DType::kFloat32);
  EXPECT_EQ(Opset(), 17);
  EXPECT_EQ(Call("--float16 --bfloat16"), 2);
}

TEST_F(ConvertCommandTest, SamplesShowWhatLeavesTheRange) {
  Write(
      "<ir_version: 8, opset_import: [\"\" : 17]>\n"
      "g (float[n,2] x) => (float[n,2] y) <float[2,2] w = {1, 2, 3, 4}> { y = MatMul(x, w) }");
  std::filesystem::create_directory(directory_.path("samples"));
  ASSERT_TRUE(
      files::WriteNpy(Tensor::Of<float>({1, 2}, {1e5f, 1}), directory_.path("samples/0.npy")).ok());
  ASSERT_EQ(Call("--float16 --calibrate " + directory_.path("samples")), 0) << log_;
  EXPECT_THAT(log_, HasSubstr("0 nodes compute in float16, 1 stay in float32 for their range"));
}

TEST_F(ConvertCommandTest, EightAndFourBits) {
  const std::string weights = absl::StrJoin(std::vector<float>(64 * 16, 0.5f), ", ");
  Write(
      "<ir_version: 8, opset_import: [\"\" : 17]>\n"
      "g (float[n,64] x) => (float[n,16] y) <float[64,16] w = {" +
      weights + "}> { y = MatMul(x, w) }");
  const std::string samples = directory_.path("samples");
  std::filesystem::create_directory(samples);
  Tensor x(DType::kFloat32, Dims{2, 64});
  for (int i = 0; i < 128; ++i) x.mutable_data<float>()[i] = static_cast<float>(i % 7) - 3;
  ASSERT_TRUE(files::WriteNpy(x, samples + "/0.npy").ok());
  ASSERT_EQ(Call("--int8 --calibration mse --calibrate " + samples), 0) << log_;
  EXPECT_THAT(log_, HasSubstr("1 products of int8 by 1 samples"));
  EXPECT_EQ(Opset(), 17);
  ASSERT_EQ(Call("--int4-weights"), 0) << log_;
  EXPECT_THAT(log_, HasSubstr("1 weights are int4: 640 bytes instead of 4096"));
  EXPECT_EQ(Opset(), 21);
  ASSERT_EQ(Call("--int4-weights --calibrate " + samples), 0) << log_;
  EXPECT_THAT(log_, HasSubstr("1 weights are int4 (GPTQ)"));
  std::filesystem::rename(written_, model_);
  for (const std::string& again :
       {std::string("--int4-weights"), "--int8 --calibrate " + samples}) {
    EXPECT_EQ(Call(again), 1);
    EXPECT_THAT(log_, HasSubstr("error: the model is quantized already: it has [DequantizeLinear"));
  }
}

TEST_F(ConvertCommandTest, WhatIsMissingIsWrongUsage) {
  const std::pair<const char*, const char*> cases[] = {
      {"--int8", "--calibrate DIR (samples for --int8) is required"},
      {"--int8 --float16 --calibrate x", "a choice among --float16, --bfloat16, --int8"},
      {"--bfloat16 --calibrate x", "one of --float16, --int8 and --int4-weights beside"},
      {"--int4-weights --block-size 33", "a power of two as --block-size is required"},
      {"--int8 --calibrate x --calibration best", "best"},
  };
  for (const auto& [arguments, error] : cases) {
    EXPECT_EQ(Call(arguments), 2) << arguments;
    EXPECT_THAT(log_, HasSubstr(error));
  }
}

TEST_F(ConvertCommandTest, SamplesThatDoNotFitAreNamed) {
  const std::string samples = directory_.path("samples");
  EXPECT_EQ(Call("--float16 --calibrate " + samples), 1);
  EXPECT_THAT(log_, HasSubstr("is not a directory of samples"));
  std::filesystem::create_directory(samples);
  EXPECT_EQ(Call("--float16 --calibrate " + samples), 1);
  EXPECT_THAT(log_, HasSubstr("has no samples for the inputs x: needs .npz files"));
  ASSERT_TRUE(files::WriteNpy(Tensor::Of<float>({1, 3}, {1, 2, 3}), samples + "/0.npy").ok());
  EXPECT_EQ(Call("--float16 --calibrate " + samples), 1);
  EXPECT_THAT(log_, HasSubstr("0.npy': input 'x': dimension 1 is 3"));
  EXPECT_THAT(log_, HasSubstr("(expected float32[n,64], got float32[1,3])"));
}

}  // namespace
}  // namespace onward
