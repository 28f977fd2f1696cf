// How modules name, share, freeze and list what they have.
#include "onward/nn/module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "onward/nn/activation.h"
#include "onward/nn/attention.h"
#include "onward/nn/conv.h"
#include "onward/nn/dropout.h"
#include "onward/nn/embedding.h"
#include "onward/nn/linear.h"
#include "onward/nn/normalization.h"
#include "onward/nn/pad.h"
#include "onward/nn/parameter_list.h"
#include "onward/nn/parameters.h"
#include "onward/nn/rearrange.h"
#include "onward/nn/recurrent.h"
#include "onward/nn/weight_norm.h"

namespace onward::nn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> NamesOf(absl::Span<const ParameterInfo> parameters) {
  std::vector<std::string> names;
  for (const ParameterInfo& each : parameters) names.push_back(each.name);
  return names;
}

struct Block : Layer {
  Block(Module& parent, std::string_view name, int64_t width)
      : Layer(parent, name), fc(*this, "fc", width, width), norm(*this, "norm", width) {}
  Expr Forward(const Expr& x) override { return x + fc(norm(x)); }
  Linear fc;
  BatchNorm1d norm;
};

absl::StatusOr<Model> TwoBlocks() {
  GraphBuilder b("blocks");
  Module root(b, {DType::kFloat32, 1});
  ModuleList<Block> blocks(root, "blocks");
  Expr x = b.Input("x", DType::kFloat32, {"batch", 3});
  for (int i = 0; i < 2; ++i) blocks.Add(3);
  for (auto& block : blocks) x = (*block)(x);
  Sequential head(root, "head");
  head.AddNamed<Linear>("in", 3, 4);
  head.Add(ReLU());
  head.Add<Linear>(4, 2);
  b.Output("y", head(x));
  return b.Build();
}

TEST(Module, NamesArePyTorchs) {
  const auto model = TwoBlocks();
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT(
      NamesOf(Parameters(*model)),
      ElementsAre("blocks.0.fc.weight", "blocks.0.fc.bias", "blocks.0.norm.weight",
                  "blocks.0.norm.bias", "blocks.0.norm.running_mean", "blocks.0.norm.running_var",
                  "blocks.1.fc.weight", "blocks.1.fc.bias", "blocks.1.norm.weight",
                  "blocks.1.norm.bias", "blocks.1.norm.running_mean", "blocks.1.norm.running_var",
                  "head.in.weight", "head.in.bias", "head.2.weight", "head.2.bias"));
  EXPECT_TRUE(model->graph.FindValue("blocks.1.fc/Gemm").valid());
  EXPECT_TRUE(model->graph.FindValue("head.1/Relu").valid());
}

TEST(Module, CountsAndFreezesByPattern) {
  auto model = TwoBlocks();
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(CountParameters(Parameters(*model)), 2 * (12 + 6) + 16 + 10);
  ASSERT_TRUE(Freeze(*model, {"blocks.0.*", "*.bias"}).ok());
  ASSERT_TRUE(Unfreeze(*model, {"head.2.bias"}).ok());
  std::vector<ParameterInfo> trained = Parameters(*model);
  std::erase_if(trained, [](const ParameterInfo& each) { return !each.trainable(); });
  EXPECT_THAT(NamesOf(trained), ElementsAre("blocks.1.fc.weight", "blocks.1.norm.weight",
                                            "head.in.weight", "head.2.weight", "head.2.bias"));
  EXPECT_EQ(CountParameters(Parameters(*model), true), 9 + 3 + 12 + 8 + 2);
  EXPECT_THAT(std::string(Freeze(*model, {"block.*"}).message()),
              HasSubstr("no parameter is named by the pattern 'block.*'; there are "
                        "'blocks.0.fc.weight', 'blocks.0.fc.bias', ..."));

  const std::string table = ParameterTable(Parameters(*model));
  EXPECT_THAT(table, HasSubstr("blocks.0.fc.weight          float32[3,3]             9  frozen     "
                               "kaiming_uniform(a=2.23607)\n"));
  EXPECT_THAT(table, HasSubstr("blocks.1.norm.running_mean  float32[3]               3  buffer\n"));
  EXPECT_THAT(table, HasSubstr("\n62 elements, 34 of them trained\n"));
}

TEST(Module, AParameterIsSharedByCalls) {
  GraphBuilder b("tied");
  Module root(b);
  Embedding wte(root, "wte", 5, 3);
  Linear fc(root, "fc", 3, 3);
  const Expr x = wte(b.Input("ids", DType::kInt64, {"n"}));
  b.Output("y", LinearOf(fc(fc(x)), wte.weight));
  const auto model = b.Build();
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT(NamesOf(Parameters(*model)), ElementsAre("wte.weight", "fc.weight", "fc.bias"));
  EXPECT_EQ(model->graph.users(model->graph.FindValue("fc.weight")).size(), 2u);
}

TEST(Module, InitializeDrawsAnew) {
  GraphBuilder b("init");
  Module root(b);
  Linear a(root, "a", 3, 3), c(root, "c", 3, 3);
  root.Initialize({"a.*"}, init::Constant(0.5));
  c.Initialize({"bias"}, init::Zeros());
  const auto value = [&](const Expr& e) { return b.graph().constant(e.id())->data<float>()[0]; };
  EXPECT_EQ(value(a.weight), 0.5f);
  EXPECT_EQ(value(a.bias), 0.5f);
  EXPECT_NE(value(c.weight), 0.5f);
  EXPECT_EQ(value(c.bias), 0.0f);
}

TEST(Module, StartsAsAsked) {
  GraphBuilder b("start");
  Module root(b);
  root.StartWith({"*.weight"}, init::Constant(0.5));
  root.StartWith({"c.*"}, init::Constant(0.25));
  Linear a(root, "a", 3, 3), c(root, "c", 3, 3);
  const auto value = [&](const Expr& e) { return b.graph().constant(e.id())->data<float>()[0]; };
  EXPECT_EQ(value(a.weight), 0.5f);
  EXPECT_NE(value(a.bias), 0.5f);
  EXPECT_EQ(value(c.weight), 0.25f);
  EXPECT_EQ(value(c.bias), 0.25f);
  EXPECT_EQ(b.graph().value(a.weight.id()).metadata.at(kInitKey), "constant(0.5)");
}

TEST(Module, DtypesOfParameters) {
  for (const DType dtype : {DType::kFloat64, DType::kFloat16, DType::kBFloat16}) {
    GraphBuilder b("dtype");
    Module root(b, {dtype});
    b.Output("y", Linear(root, "fc", 2, 3)(b.Input("x", dtype, {4, 2})));
    const auto model = b.Build();
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_EQ(model->graph.type(model->graph.outputs()[0]).dtype, dtype);
  }
}

// What is wrong is said with the module's path, once, by Build.
TEST(Module, ParametersInListsAndDicts) {
  GraphBuilder b("lists");
  Module root(b);
  ParameterList list(root, "scales");
  list.Add({2, 3}, init::Ones());
  list.Add({3}, init::Zeros());
  ParameterDict dict(root, "by_name");
  dict.Add("shift", {3}, init::Constant(2));
  b.Output("y", list[0] * dict.at("shift") + list[1]);
  const auto model = b.Build();
  ASSERT_TRUE(model.ok()) << model.status();
  std::vector<std::string> names;
  for (const ParameterInfo& each : Parameters(*model)) names.push_back(each.name);
  EXPECT_THAT(names, ::testing::ElementsAre("scales.0", "scales.1", "by_name.shift"));
}

TEST(Module, SaysWhatIsWrong) {
  const auto message = [](const std::function<Expr(Module & root, const Expr& x)>& make,
                          DType dtype = DType::kFloat32) {
    GraphBuilder b("wrong");
    Module root(b, {dtype});
    b.Output("y", make(root, b.Input("x", DType::kFloat32, {"batch", 4, 6})));
    return std::string(b.Build().status().message());
  };
  EXPECT_THAT(message([](Module& r, const Expr& x) { return Linear(r, "fc", 5, 2)(x); }),
              HasSubstr("a linear layer of 5 features cannot take float32[batch,4,6]"));
  EXPECT_THAT(message([](Module& r, const Expr& x) { return Linear(r, "fc", 6, 0)(x); }),
              HasSubstr("module 'fc': parameter weight cannot have the shape [0,6]"));
  EXPECT_THAT(message([](Module& r, const Expr& x) {
                return Linear(r, "a", 6, 6)(Linear(r, "a", 6, 6)(x));
              }),
              HasSubstr("module 'a': there is already a value 'a.weight'"));
  EXPECT_THAT(
      message([](Module& r, const Expr& x) { return Conv1d(r, "c", 4, 6, 3, {.groups = 3})(x); }),
      HasSubstr("module 'c': 3 groups do not divide channels 4 to 6"));
  EXPECT_THAT(message([](Module& r, const Expr& x) {
                return Conv1d(r, "c", 4, 6, Sizes{3, 3})(x);
              }),
              HasSubstr("the kernel needs 1 sizes"));
  EXPECT_THAT(message([](Module& r, const Expr& x) { return Conv1d(r, "c", 3, 6, 3)(x); }),
              HasSubstr("a convolution of 3 channels and rank 3 cannot take float32[batch,4,6]"));
  EXPECT_THAT(message([](Module& r, const Expr& x) { return BatchNorm(r, "b", 3)(x); }),
              HasSubstr("a batch normalization of 3 channels cannot take float32[batch,4,6]"));
  EXPECT_THAT(message([](Module&, const Expr& x) { return Dropout{1.5}(x); }),
              HasSubstr("a dropout must be in [0, 1), got 1.5"));
  EXPECT_THAT(message([](Module& r, const Expr& x) {
                return MultiheadAttention(r, "attn", 6, 4)(x, x, x);
              }),
              HasSubstr("module 'attn': 4 heads do not divide the size 6"));
  EXPECT_THAT(message([](Module& r, const Expr& x) { return GroupNorm(r, "n", 3, 4)(x); }),
              HasSubstr("module 'n': the groups must divide the channels"));
  EXPECT_THAT(message([](Module&, const Expr& x) { return ChannelShuffle{3}(x); }),
              HasSubstr("3 groups do not divide 4 channels"));
  EXPECT_THAT(message([](Module&, const Expr& x) {
                return ZeroPad{{1, 2, 3}}(x);
              }),
              HasSubstr("by 3 numbers: give one, or two for each of the last axes"));
  EXPECT_THAT(message([](Module& r, const Expr& x) {
                return GRU(r, "g", 6, 4, {.proj_size = 2})(x).output;
              }),
              HasSubstr("module 'g': only an LSTM has a proj_size"));
  EXPECT_THAT(message([](Module& r, const Expr& x) {
                Linear linear(r, "l", 6, 2);
                const Expr y = linear(x);
                WeightNorm(linear, linear.weight);
                return y;
              }),
              HasSubstr("module 'l': 'l.weight' is not an unused parameter of it"));
  EXPECT_THAT(
      message([](Module& r, const Expr& x) { return Linear(r, "", 6, 2)(x); }, DType::kInt8),
      HasSubstr("parameters must be float, double, float16 or bfloat16"));
  EXPECT_THAT(message([](Module& r, const Expr& x) {
                return Embedding(r, "e", 5, 2, {.padding_idx = 5})(x);
              }),
              HasSubstr("module 'e': padding_idx is out of range"));
}

}  // namespace
}  // namespace onward::nn
