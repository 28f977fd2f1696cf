// The bisection of `onward compare --bisect`: a rewrite is told by the last bits that it changes.
#include "cli/wrong_rewrite.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onward/builder.h"
#include "onward/export.h"
#include "onward/functions.h"
#include "tests/support/scratch_directory.h"

namespace onward::cli {
namespace {

Tensor Waves(const Dims& dims, float from, float to) {
  Tensor tensor(DType::kFloat32, dims);
  for (int64_t i = 0; i < tensor.num_elements(); ++i)
    tensor.mutable_data<float>()[i] =
        from + (to - from) * (0.5f + 0.5f * std::sin(static_cast<float>(i)));
  return tensor;
}

class WrongRewriteTest : public ::testing::Test {
 protected:
  // Two convolutions, each with a normalization that is folded into its weights.
  void SetUp() override {
    GraphBuilder b("net");
    Expr x = b.Input("x", Type::Tensor(DType::kFloat32, {Dim(1), Dim(4), Dim(6), Dim(6)}));
    for (const char* name : {"one", "two"}) {
      const auto weight = [&](const char* kind, const Dims& dims, float from, float to) {
        return b.Constant(Waves(dims, from, to), absl::StrCat(name, ".", kind));
      };
      x = expr::Op("Conv", {x, weight("w", {4, 4, 3, 3}, -1, 1)});
      x = expr::Op("BatchNormalization",
                   {x, weight("scale", {4}, 0.3f, 0.7f), weight("bias", {4}, -1, 1),
                    weight("mean", {4}, -1, 1), weight("variance", {4}, 0.3f, 3)});
      x = Identity(Relu(x));
    }
    b.Output("y", x);
    const auto model = b.Build();
    ASSERT_TRUE(model.ok()) << model.status();
    path_ = directory_.path("net.onnx");
    ASSERT_TRUE(ExportFile(*model, path_).ok());
    input_ = Waves({1, 4, 6, 6}, -1, 1);
  }

  Tensor RunOf(Session& session) {
    const auto outputs = session.Run({{"x", input_}});
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    return outputs->at("y").tensor();
  }
  static bool Same(const Tensor& a, const Tensor& b) {
    return a.num_elements() == b.num_elements() &&
           std::equal(a.data<float>(), a.data<float>() + a.num_elements(), b.data<float>());
  }

  testing::ScratchDirectory directory_;
  std::string path_;
  Tensor input_;
};

TEST_F(WrongRewriteTest, IsTheFirstThatChangesABit) {
  SessionOptions options;
  options.stop_after_patches = 0;
  const auto plain = Session::Load(path_, options);
  ASSERT_TRUE(plain.ok()) << plain.status();
  const Tensor reference = RunOf(**plain);
  // By trying every number of rewrites.
  int expected = 0;
  do {
    options.stop_after_patches = ++expected;
    const auto session = Session::Load(path_, options);
    ASSERT_TRUE(session.ok()) << session.status();
    if (!Same(RunOf(**session), reference)) break;
  } while (expected < 1000);
  ASSERT_LT(expected, 1000);
  ASSERT_GT(expected, 1);
  const auto found = FindWrongRewrite(path_, {}, [&](Session& session) -> absl::StatusOr<bool> {
    return Same(RunOf(session), reference);
  });
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->number, expected);
  EXPECT_GE(found->rewrites, found->number);
  EXPECT_EQ(found->pass, "fuse_batch_norm");
  EXPECT_THAT(found->nodes, ::testing::Contains(::testing::HasSubstr("Conv")));
}

TEST_F(WrongRewriteTest, NoneIsToBlameWhereTheModelIsWrongWithoutAny) {
  const auto found =
      FindWrongRewrite(path_, {}, [](Session&) -> absl::StatusOr<bool> { return false; });
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->number, 0);
  EXPECT_GT(found->rewrites, 1);
  EXPECT_FALSE(FindWrongRewrite(directory_.path("none.onnx"), {}, nullptr).ok());
}

TEST_F(WrongRewriteTest, IsPrinted) {
  const std::string log = directory_.path("log");
  const std::string command =
      absl::StrCat(ONWARD_PROGRAM, " compare ", path_, " --random --rtol 0 --atol 0 --bisect");
  EXPECT_NE(std::system(absl::StrCat(command, " >", log, " 2>&1").c_str()), 0);
  std::ifstream text_file(log);
  const std::string text(std::istreambuf_iterator<char>(text_file), {});
  EXPECT_THAT(text,
              ::testing::ContainsRegex(
                  "rewrite [0-9]+ of [0-9]+ makes the difference, of the pass fuse_batch_norm"));
  EXPECT_THAT(text, ::testing::HasSubstr("error: the outputs are not those of the model without"));
  EXPECT_NE(std::system(absl::StrCat(command, " --json >", log, " 2>/dev/null").c_str()), 0);
  std::ifstream json_file(log);
  const auto document = nlohmann::json::parse(json_file, nullptr, false);
  EXPECT_EQ(document["rewrite"]["pass"], "fuse_batch_norm");
  EXPECT_GT(document["rewrite"]["number"], 0);
}

}  // namespace
}  // namespace onward::cli
