// Configurations that are wrong: the message says where and what.
#include "onward/train_config.h"

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/scratch_directory.h"

namespace onward::training {
namespace {

using ::testing::HasSubstr;
using testing::ScratchDirectory;

constexpr char kSound[] = R"(model: "m.onnx"
loss { mse {} }
optimizer {
  sgd { lr: 0.1 }
  group { parameters: "*.bias" }
}
data { mnist { images: "i" labels: "l" } }
epochs: 2
)";

std::string Error(const std::string& text, const std::vector<std::string>& set = {},
                  const std::string& name = "c.textproto") {
  const ScratchDirectory scratch;
  scratch.Write(name, text);
  const auto config = ReadTrainConfig(scratch.path() + "/" + name, set);
  return config.ok() ? "OK" : std::string(config.status().message());
}

TEST(ReadTrainConfig, SaysLineAndColumn) {
  EXPECT_EQ(Error(kSound), "OK");
  EXPECT_THAT(Error(std::string(kSound) + "batch_sise: 4\n"),
              HasSubstr("c.textproto:9:1: batch_sise: no such field; did you mean batch_size? "));
  EXPECT_THAT(Error(std::string(kSound) + "batch_size: \"four\"\n"),
              HasSubstr("c.textproto:9:13: "));
  EXPECT_THAT(Error(std::string(kSound) + "  batch_size: 0\n"),
              HasSubstr("c.textproto:9:3: batch_size must be at least 1, got 0"));
  EXPECT_THAT(Error(std::string(kSound) + "schedule {\n  cosine {}\n  warmup: -3 }\n"),
              HasSubstr("c.textproto:11:3: schedule.warmup must be at least 0, got -3"));
  EXPECT_THAT(Error(std::string(kSound) + "clip { global_norm: nan }\n"),
              HasSubstr("clip.global_norm must be above 0"));
  EXPECT_THAT(Error(std::string(kSound) + "steps: 4\n"), HasSubstr("epochs or steps"));
}

TEST(ReadTrainConfig, MissingFieldsAndFiles) {
  EXPECT_THAT(Error("model: \"m\" epochs: 1 loss { mse {} }"), HasSubstr("optimizer"));
  const auto missing = ReadTrainConfig("no/such.textproto");
  EXPECT_THAT(std::string(missing.status().message()), HasSubstr("cannot open the config"));
}

TEST(ReadTrainConfig, Json) {
  const std::string sound = R"({"model": "m.onnx", "loss": {"mse": {}}, "epochs": 1,
    "optimizer": {"sgd": {"lr": 0.5}},
    "data": {"mnist": {"images": "i", "labels": "l"}}})";
  const ScratchDirectory scratch;
  scratch.Write("c.json", sound);
  const auto config = ReadTrainConfig(scratch.path() + "/c.json");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->optimizer().sgd().lr(), 0.5);
  EXPECT_THAT(Error("{\"model\": \"m\",\n \"epochs\" 1}", {}, "c.json"), HasSubstr("line 2"));
  EXPECT_THAT(Error("{\"model\": \"m\"}", {}, "c.json"),
              HasSubstr("c.json:1:1: missing field loss"));
}

TEST(ReadTrainConfig, JsonSaysLineAndColumn) {
  const std::string rest = R"("loss": {"mse": {}, "target" : "\"}"}, "epochs": 1,
    "optimizer": {"sgd": {"lr": 0.5},
      "group": [{"leastRank": 2}, {"schedule": {"step": {
        "stepSize": 0}}}]},
    "data": {"mnist": {"images": "i", "labels": "l"}}})";
  EXPECT_THAT(Error("{\"batchSize\": 3,\n \"modl\": 1, " + rest, {}, "c.json"),
              HasSubstr("c.json:2:2: modl: no such field; did you mean model? "));
  EXPECT_THAT(Error("{\"model\": \"m\", \"clip\": { \"norms\": [1, {}]}," + rest, {}, "c.json"),
              HasSubstr("c.json:1:26: clip.norms: no such field; did you mean norm? "));
  EXPECT_THAT(Error("{\"model\": \"m\",\n\"batch_size\": \"x\"," + rest, {}, "c.json"),
              HasSubstr("c.json:2:1: (batch_size): invalid value"));
  EXPECT_THAT(Error("{\"model\": \"m\",\n \"batchSize\": -1e0," + rest, {}, "c.json"),
              HasSubstr("c.json:2:2: batch_size must be at least 1, got -1"));
  EXPECT_THAT(
      Error("{\"model\": \"m\"," + rest, {}, "c.json"),
      HasSubstr(
          "c.json:4:9: optimizer.group[1].schedule.step.step_size must be at least 1, got 0"));
  EXPECT_THAT(
      Error("{\"weights\": " + std::string(5000, '[') + std::string(5000, ']') + "}", {}, "c.json"),
      HasSubstr("nested deeper than 100"));
}

TEST(ReadTrainConfig, OverridesSetFieldsOfEveryKind) {
  const ScratchDirectory scratch;
  scratch.Write("c.textproto", kSound);
  const auto config = ReadTrainConfig(
      scratch.path() + "/c.textproto",
      {"optimizer.sgd.lr=0.25", "optimizer.sgd.weight_decay=1e-2", "batch_size=7",
       "model=other.onnx", "frozen=a.*", "optimizer.group.0.sgd.lr=0", "non_finite=SKIP",
       "data.mnist.mean=0.5", "epochs=", "steps=4", "schedule={step { step_size: 3 }}"});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->optimizer().sgd().lr(), 0.25);
  EXPECT_EQ(config->optimizer().sgd().weight_decay(), 0.01);
  EXPECT_EQ(config->optimizer().group(0).sgd().lr(), 0);
  EXPECT_EQ(config->batch_size(), 7);
  EXPECT_EQ(config->model(), "other.onnx");
  EXPECT_EQ(config->frozen(0), "a.*");
  EXPECT_EQ(config->non_finite(), TrainConfig::SKIP);
  EXPECT_EQ(config->data().mnist().mean(), 0.5f);
  EXPECT_EQ(config->schedule().step().step_size(), 3);
  EXPECT_FALSE(config->has_epochs());
}

TrainConfig Overridden(const std::vector<std::string>& set) {
  const ScratchDirectory scratch;
  scratch.Write("c.textproto", absl::StrReplaceAll(kSound, {{"lr: 0.1", "lr: 0.1 momentum: 0.9"}}) +
                                   R"(frozen: ["a", "b", "c"] schedule { cosine {} warmup: 1 })");
  const auto config = ReadTrainConfig(scratch.path() + "/c.textproto", set);
  EXPECT_TRUE(config.ok()) << config.status();
  return config.value_or(TrainConfig());
}

std::vector<std::string> Frozen(const std::vector<std::string>& set) {
  const TrainConfig config = Overridden(set);
  return {config.frozen().begin(), config.frozen().end()};
}

TEST(ReadTrainConfig, AnOverrideReplacesAndAnEmptyOneClears) {
  using ::testing::ElementsAre;
  EXPECT_THAT(Frozen({"frozen=d"}), ElementsAre("d"));
  EXPECT_THAT(Frozen({"frozen=d", "frozen=e"}), ElementsAre("e"));
  EXPECT_THAT(Frozen({"frozen+=d"}), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(Frozen({"frozen=[\"d\", \"e\"]"}), ElementsAre("d", "e"));
  EXPECT_THAT(Frozen({"frozen+=[\"d\", \"e\"]"}), ElementsAre("a", "b", "c", "d", "e"));
  EXPECT_THAT(Frozen({"frozen="}), ElementsAre());
  EXPECT_THAT(Frozen({"frozen.1=d"}), ElementsAre("a", "d", "c"));
  EXPECT_THAT(Frozen({"frozen.0="}), ElementsAre("b", "c"));
  EXPECT_EQ(Overridden({"optimizer.group="}).optimizer().group_size(), 0);
  EXPECT_EQ(Overridden({"optimizer.group.0="}).optimizer().group_size(), 0);
  EXPECT_EQ(Overridden({"optimizer.group+={least_rank: 2}"}).optimizer().group_size(), 2);
  EXPECT_FALSE(Overridden({"schedule="}).has_schedule());
  EXPECT_EQ(Overridden({"schedule.warmup="}).schedule().has_warmup(), false);
  // What is not there stays away, and is not a half message.
  EXPECT_FALSE(Overridden({"evaluation.patience="}).has_evaluation());
  EXPECT_FALSE(Overridden({"clip.norm="}).has_clip());
}

TEST(ReadTrainConfig, OverridesOfOptions) {
  EXPECT_EQ(Overridden({}).optimizer().sgd().momentum(), 0.9);
  // The optimizer's default, not a rate of 0.
  EXPECT_FALSE(Overridden({"optimizer.sgd.lr="}).optimizer().sgd().has_lr());
  EXPECT_EQ(Overridden({"optimizer.sgd.lr="}).optimizer().sgd().lr(), 1e-3);
  const TrainConfig replaced = Overridden({"optimizer.sgd={lr: 3}"});
  EXPECT_EQ(replaced.optimizer().sgd().lr(), 3);
  EXPECT_FALSE(replaced.optimizer().sgd().has_momentum());
}

TEST(ReadTrainConfig, OverridesOfMaps) {
  EXPECT_EQ(Overridden({"data.inputs.image=pixels"}).data().inputs().at("image"), "pixels");
  EXPECT_EQ(Overridden({"data.inputs.a.b=pixels"}).data().inputs().at("a.b"), "pixels");
  EXPECT_EQ(Overridden({"data.inputs.image="}).data().inputs().size(), 0u);
  EXPECT_THAT(Error(kSound, {"data.inputs=3"}),
              HasSubstr("'inputs' has a value by key: name the entry, as in inputs.KEY=3"));
}

TEST(ReadTrainConfig, WrongOverrides) {
  EXPECT_THAT(Error(kSound, {"optimiser.adam={}"}),
              HasSubstr("optimiser: no such field; did you mean optimizer?"));
  EXPECT_THAT(Error(kSound, {"clip.nrom="}),
              HasSubstr("clip.nrom: no such field; did you mean norm? "));
  EXPECT_THAT(Error(kSound, {"batch_size+=4"}), HasSubstr("'batch_size' has one value"));
  EXPECT_THAT(Error(kSound, {"frozen+="}), HasSubstr("+= needs a value to add"));
  EXPECT_THAT(Error(kSound, {"non_finite=NEVER"}), HasSubstr("(STOP, SKIP)"));
  EXPECT_THAT(Error(kSound, {"loss="}), HasSubstr("loss is missing"));
  EXPECT_THAT(Error(kSound, {"loss.mse="}), HasSubstr("with --set: loss must name a kind, one of"));
  EXPECT_THAT(Error(kSound, {"batch_size"}), HasSubstr("needs path.to.field=value"));
  EXPECT_THAT(Error(kSound, {"batch=3"}),
              HasSubstr("--set batch=3: batch: no such field; did you mean batch_size? There are "
                        "model, "));
  EXPECT_THAT(Error(kSound, {"batch_size=x"}),
              HasSubstr("'x' is not a value of field 'batch_size'"));
  EXPECT_THAT(Error(kSound, {"batch_size.x=1"}), HasSubstr("'batch_size' has no fields"));
  EXPECT_THAT(Error(kSound, {"optimizer.group.4.sgd.lr=1"}),
              HasSubstr("'4' is not an index of 'group', which has 1"));
  EXPECT_THAT(Error(kSound, {"batch_size=0"}),
              HasSubstr("with --set: batch_size must be at least 1, got 0"));
}

}  // namespace
}  // namespace onward::training
