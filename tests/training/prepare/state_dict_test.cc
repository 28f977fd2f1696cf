// Weights in and out by name: what fits, what is reported, files that PyTorch writes.
#include "training/prepare/state_dict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "onward/nn/embedding.h"
#include "onward/nn/linear.h"
#include "onward/nn/normalization.h"
#include "tests/support/scratch_directory.h"

namespace onward::training {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Model Small(uint64_t seed = 0, DType dtype = DType::kFloat32) {
  GraphBuilder b("small");
  nn::Module root(b, {dtype, seed});
  nn::Embedding wte(root, "wte", 4, 3);
  nn::Linear fc(root, "fc", 3, 3);
  nn::BatchNorm1d bn(root, "bn", 3);
  b.Output("y", bn(fc(wte(b.Input("ids", DType::kInt64, {"n"})))));
  auto model = b.Build();
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

LoadOptions Lax() {
  LoadOptions options;
  options.strict = false;
  return options;
}

TEST(StateDict, GoesOutAndIn) {
  const Model from = Small(1);
  Model to = Small(2);
  const StateDict values = StateDictOf(from);
  EXPECT_EQ(values.size(), 7u);
  const auto report = LoadStateDict(to, values);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->loaded, 7);
  EXPECT_EQ(report->ToString(), "7 loaded");
  for (const auto& [name, value] : StateDictOf(to)) EXPECT_TRUE(SameBits(value, values.at(name)));
}

TEST(StateDict, ReportsWhatDoesNotFit) {
  Model model = Small();
  const StateDict before = StateDictOf(model);
  StateDict values = before;
  values.erase("fc.bias");
  values["head.weight"] = Tensor::Of<float>({2}, {1, 2});
  values["fc.weight"] = Tensor::Of<float>({1, 3}, {1, 2, 3});
  values["wte.weight"] = Tensor::Of<int64_t>({4, 3}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  values["bn.bias"] = Tensor::Of<float>({3}, {5, 6, 7});
  const absl::Status strict = LoadStateDict(model, values).status();
  EXPECT_THAT(std::string(strict.message()),
              HasSubstr("the values do not fit the model; 1 missing: fc.bias; 1 unexpected: "
                        "head.weight; 2 of another type: wte.weight is float32[4,3], got "
                        "int64[4,3], fc.weight is float32[3,3], got float32[1,3]"));
  for (const auto& [name, value] : StateDictOf(model))
    EXPECT_TRUE(SameBits(value, before.at(name)));

  const auto report = LoadStateDict(model, values, Lax());
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->loaded, 4);
  EXPECT_THAT(report->missing, ElementsAre("fc.bias"));
  EXPECT_THAT(report->unexpected, ElementsAre("head.weight"));
  EXPECT_EQ(report->mismatched.size(), 2u);
  EXPECT_TRUE(SameBits(StateDictOf(model).at("bn.bias"), values["bn.bias"]));
}

TEST(StateDict, NamesThatOthersGive) {
  Model model = Small();
  StateDict values;
  for (const auto& [name, value] : StateDictOf(Small(5))) values["module.net." + name] = value;
  values["module.net.fc2.weight"] = values["module.net.fc.weight"];  // tied: no surprise
  values["module.net.bn.num_batches_tracked"] = Tensor::Scalar(int64_t{3});
  values["optimizer.step"] = Tensor::Scalar(1.0f);
  LoadOptions options;
  options.renames = {{"^module\\.(net)\\.", "$1/"}, {"^net/", ""}};
  options.ignored = {"optimizer.*"};
  const auto report = LoadStateDict(model, values, options);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->loaded, 7);

  options.renames = {{"(", ""}};
  EXPECT_THAT(std::string(LoadStateDict(model, values, options).status().message()),
              HasSubstr("a rename is not a regular expression"));
  options.renames = {{"weight|bias", "x"}};
  EXPECT_THAT(std::string(LoadStateDict(model, values, options).status().message()),
              HasSubstr("two values are named 'module.net."));
}

TEST(StateDict, OtherDtypesAndTransposes) {
  Model model = Small(0, DType::kFloat64);
  StateDict values = StateDictOf(model);
  values["fc.weight"] = Tensor::Of<float>({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9.5});
  values["fc.bias"] = Tensor::Of<BFloat16>({3}, {BFloat16(0.5f), BFloat16(-2.0f), BFloat16(3.0f)});
  LoadOptions options;
  options.transposed = {"fc.weight"};
  ASSERT_TRUE(LoadStateDict(model, values, options).ok());
  const StateDict loaded = StateDictOf(model);
  EXPECT_THAT(loaded.at("fc.weight").span<double>(), ElementsAre(1, 4, 7, 2, 5, 8, 3, 6, 9.5));
  EXPECT_THAT(loaded.at("fc.bias").span<double>(), ElementsAre(0.5, -2, 3));
}

TEST(StateDict, Files) {
  const testing::ScratchDirectory directory;
  const std::string path = directory.path() + "/small.safetensors";
  ASSERT_TRUE(SaveStateDict(Small(3), path).ok());
  Model model = Small(4);
  ASSERT_TRUE(LoadStateDict(model, path).ok());
  EXPECT_TRUE(SameBits(StateDictOf(model).at("fc.bias"), StateDictOf(Small(3)).at("fc.bias")));
  EXPECT_THAT(std::string(LoadStateDict(model, path + "x").status().message()), HasSubstr(path));
}

}  // namespace
}  // namespace onward::training
