// Models by name: what they have, what is refused.
#include "onward/models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "onward/nn/parameters.h"

namespace onward::nn {
namespace {

using ::testing::HasSubstr;

int64_t Count(const char* name, const std::map<std::string, double>& options = {}) {
  const auto model = BuildModel(name, options);
  EXPECT_TRUE(model.ok()) << model.status();
  return model.ok() ? nn::CountParameters(nn::Parameters(*model)) : 0;
}

// torchvision's and transformers' own counts.
TEST(Models, HaveAsManyParametersAsPyTorchs) {
  EXPECT_EQ(Count("mlp"), 784 * 512 + 512 + 512 * 512 + 512 + 512 * 10 + 10);
  EXPECT_EQ(Count("mnist_cnn"), 320 + 18496 + 31370);
  EXPECT_EQ(Count("resnet18"), 11689512);
  EXPECT_EQ(Count("resnet50"), 25557032);
  EXPECT_EQ(
      Count(
          "gpt",
          {{"vocabulary", 50257}, {"layers", 2}, {"heads", 12}, {"width", 768}, {"context", 1024}}),
      124439808 - 10 * 7087872);
  EXPECT_EQ(Count("bert", {{"layers", 2}}), 109483778 - 10 * 7087872);
  EXPECT_EQ(Count("lstm_lm"),
            10000 * 256 + 2048 * 256 + 3 * 2048 * 512 + 4 * 2048 + 512 * 10000 + 10000);
}

TEST(Models, AreTheSameForASeed) {
  for (const ModelEntry& entry : Models()) {
    std::map<std::string, double> small;
    for (const ModelOption& option : entry.options) {
      if (option.name == "layers") small["layers"] = 1;
      if (option.name == "vocabulary") small["vocabulary"] = 11;
      if (option.name == "width") small["width"] = 12;
    }
    const auto a = BuildModel(entry.name, small, 7), b = BuildModel(entry.name, small, 7),
               c = BuildModel(entry.name, small, 8);
    ASSERT_TRUE(a.ok() && b.ok() && c.ok()) << entry.name << a.status();
    EXPECT_EQ(a->graph.value(a->graph.outputs()[0]).name, "logits");
    bool differ = false;
    for (const nn::ParameterInfo& each : nn::Parameters(*a)) {
      EXPECT_NE(each.init.empty(), !each.buffer()) << each.name;
      EXPECT_TRUE(SameBits(*a->graph.constant(each.id), *b->graph.constant(each.id)));
      differ |= !SameBits(*a->graph.constant(each.id), *c->graph.constant(each.id));
    }
    EXPECT_TRUE(differ) << entry.name;
  }
}

TEST(Models, SayWhatIsThere) {
  const auto message = [](const char* name, const std::map<std::string, double>& options) {
    return std::string(BuildModel(name, options).status().message());
  };
  EXPECT_THAT(message("resnet19", {}), HasSubstr("there is no model 'resnet19'; there are mlp, "));
  EXPECT_THAT(message("mlp", {{"hiden", 3}}),
              HasSubstr("model mlp has no option 'hiden'; it has features, channels"));
  EXPECT_THAT(message("mlp", {{"hidden", 0}}),
              HasSubstr("hidden = 0 is not a whole number in [1, "));
  EXPECT_THAT(message("mlp", {{"hidden", 2.5}}), HasSubstr("hidden = 2.5 is not a whole number"));
  EXPECT_THAT(message("gpt", {{"dropout", 1}}), HasSubstr("dropout = 1 is not a number in [0, "));
  EXPECT_THAT(message("gpt", {{"heads", 3}}),
              HasSubstr("model gpt: module 'h.0.attn': the heads must divide the width"));
  EXPECT_THAT(message("unet", {{"size", 20}}), HasSubstr("size 20 cannot be halved 3 times"));
}

}  // namespace
}  // namespace onward::nn
