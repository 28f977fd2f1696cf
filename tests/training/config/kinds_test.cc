// Losses, optimizers and schedules are of one kind each, with its own fields: what a config that is
// written otherwise is told, in both formats and by --set.
#include "training/config/kinds.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onward/train_config.h"
#include "tests/support/scratch_directory.h"
#include "training/config/config_differences.h"

namespace onward::training {
namespace {

using ::testing::HasSubstr;
using testing::ScratchDirectory;

absl::StatusOr<TrainConfig> Read(const std::string& text, const std::vector<std::string>& set,
                                 const std::string& name) {
  const ScratchDirectory scratch;
  scratch.Write(name, text);
  return ReadTrainConfig(scratch.path() + "/" + name, set);
}

constexpr char kRest[] = "\nmodel: 'm.onnx' data { npz { path: 'd.npz' } } steps: 1\n";
constexpr char kLoss[] = "loss { mse {} }\n";
constexpr char kOptimizer[] = "optimizer { adamw { lr: 1e-3 } group { least_rank: 2 } }\n";

std::string Error(const std::string& text, const std::vector<std::string>& set = {},
                  const std::string& name = "c.textproto") {
  const auto config = Read(text, set, name);
  return config.ok() ? "OK" : std::string(config.status().message());
}
std::string LossError(const std::string& loss) {
  return Error(absl::StrCat(loss, kOptimizer, kRest));
}
std::string OptimizerError(const std::string& optimizer) {
  return Error(absl::StrCat(optimizer, kLoss, kRest));
}
std::string ScheduleError(const std::string& schedule, const std::string& optimizer = "adamw {}") {
  return Error(absl::StrCat(schedule, kLoss, "optimizer { ", optimizer, " }", kRest));
}
std::string SetError(const std::string& set) {
  return Error(absl::StrCat(kLoss, kOptimizer, "schedule { cosine { least: 1e-5 } }", kRest),
               {set});
}

TEST(Kinds, TheConfigsOfTheTestsAreSound) {
  EXPECT_EQ(LossError(kLoss), "OK");
  EXPECT_EQ(OptimizerError(kOptimizer), "OK");
  EXPECT_EQ(ScheduleError("schedule { cosine {} warmup: 1 }"), "OK");
}

TEST(Kinds, FormerSpellingsSayWhatIsWrittenNow) {
  EXPECT_THAT(LossError("loss {\n  kind: \"mse\" target: 'y' }"),
              HasSubstr("c.textproto:2:3: loss.kind is written as a message of its own now: "
                        "loss { mse {} }"));
  EXPECT_THAT(LossError("loss { kind: \"kl\" }"), HasSubstr("now: loss { kl_div {} }"));
  EXPECT_THAT(LossError("loss { kind: \"output\" }"), HasSubstr("now: loss { from_model {} }"));
  EXPECT_THAT(LossError("loss { kind: \"poisson\" }"), HasSubstr("now: loss { poisson_nll {} }"));
  EXPECT_THAT(LossError("loss { kind: \"mean\" }"),
              HasSubstr("now: loss { bce {} }; there are bce, bce_with_logits, cross_entropy"));
  EXPECT_THAT(OptimizerError("optimizer { name: \"AdamW\" options { key: \"lr\" value: 1 } }"),
              HasSubstr("c.textproto:1:13: optimizer.name is written as a message of its own now: "
                        "optimizer { adamw { lr: 0.001 } }"));
  EXPECT_THAT(OptimizerError("optimizer { options { key: \"lr\" value: 1 } name: \"SGD\" }"),
              HasSubstr("optimizer.options is written as the fields of the optimizer's kind now: "
                        "optimizer { adamw { lr: 0.001 } }"));
  EXPECT_THAT(OptimizerError("optimizer { sgd {} group { options { key: \"lr\" value: 1 } } }"),
              HasSubstr("optimizer.group[0].options is written as the fields of the optimizer's "
                        "kind now: group { adamw { lr: 0.001 } }"));
  EXPECT_THAT(ScheduleError("schedule { kind: \"cosine\" warmup: 20 }"),
              HasSubstr("schedule.kind is written as a message of its own now: "
                        "schedule { cosine {} }"));
  EXPECT_THAT(OptimizerError("optimizer { sgd {} group { schedule { kind: \"step\" } } }"),
              HasSubstr("optimizer.group[0].schedule.kind is written as a message of its own now: "
                        "schedule { step {} }"));
}

TEST(Kinds, FormerNamesOfFieldsSayWhatTheyAreCalledNow) {
  EXPECT_THAT(LossError("loss { cross_entropy {} label_smoothing: 0.1 }"),
              HasSubstr("loss.label_smoothing: no such field; it is a field of cross_entropy: "
                        "loss { cross_entropy { label_smoothing: 0.1 } }"));
  EXPECT_THAT(LossError("loss { mse {} sum: true }"),
              HasSubstr("loss.sum: no such field; it is called reduction: SUM"));
  EXPECT_THAT(LossError("loss { ctc { frames: \"n\" } }"),
              HasSubstr("loss.ctc.frames: no such field; it is called input_lengths"));
  EXPECT_THAT(ScheduleError("schedule { cosine {} least: 1e-4 }"),
              HasSubstr("schedule.least: no such field; it is a field of cosine, cosine_restarts, "
                        "plateau, wsd: schedule { cosine { least: 1e-4 } }"));
  EXPECT_THAT(ScheduleError("schedule { step { every: 3 } }"),
              HasSubstr("schedule.step.every: no such field; it is called step_size"));
  // PyTorch's.
  EXPECT_THAT(OptimizerError("optimizer { adam { betas: [0.9, 0.99] } }"),
              HasSubstr("optimizer.adam.betas: no such field; it is called beta1 and beta2"));
  EXPECT_THAT(ScheduleError("schedule { cosine { T_max: 3 } }"),
              HasSubstr("schedule.cosine.T_max: no such field; it is called total"));
  EXPECT_THAT(ScheduleError("schedule { plateau { min_lr: 3 } }"), HasSubstr("it is called least"));
}

TEST(Kinds, TyposNameTheClosestField) {
  EXPECT_THAT(LossError("loss {\n  cross_entropy { label_smothing: 0.1 } }"),
              HasSubstr("c.textproto:2:19: loss.cross_entropy.label_smothing: no such field; did "
                        "you mean label_smoothing? There are weight, ignore_index"));
  EXPECT_THAT(LossError("loss { cross_entrophy {} }"),
              HasSubstr("loss.cross_entrophy: no such field; did you mean cross_entropy? "));
  EXPECT_THAT(LossError("loss { mse { delta: 1 } }"),
              HasSubstr("loss.mse.delta: no such field; mse has none"));
  EXPECT_THAT(OptimizerError("optimizer { sgd { beta1: 0.9 } }"),
              HasSubstr("optimizer.sgd.beta1: no such field; "));
  EXPECT_THAT(
      OptimizerError("optimizer { sgd {} group { parameters: 'a' } group { sgd { lrr: 1 } } }"),
      HasSubstr("c.textproto:1:60: optimizer.group[1].sgd.lrr: no such field; did you mean "
                "lr? "));
}

TEST(Kinds, OneKindIsNamed) {
  EXPECT_THAT(
      LossError("loss { mse {} target: 'y'\n  l1 {} }"),
      HasSubstr("c.textproto:2:3: loss.l1: loss has mse already, and takes one of the two"));
  EXPECT_THAT(LossError("\nloss { target: 'y' }"),
              HasSubstr("c.textproto:2:1: loss must name a kind, one of bce, bce_with_logits"));
  EXPECT_THAT(OptimizerError("optimizer { group { least_rank: 2 } }"),
              HasSubstr("optimizer must name a kind, one of adadelta, "));
  EXPECT_THAT(ScheduleError("schedule { warmup: 20 }"),
              HasSubstr("schedule must name a kind, one of constant, cosine"));
  EXPECT_THAT(OptimizerError("optimizer { sgd {} group { schedule { warmup: 1 } } }"),
              HasSubstr("optimizer.group[0].schedule must name a kind"));
}

TEST(Kinds, AGroupIsOfTheOptimizersKind) {
  EXPECT_THAT(OptimizerError("optimizer { adamw {} group { least_rank: 2\n adam { lr: 1 } } }"),
              HasSubstr("c.textproto:2:2: optimizer.group[0].adam is not the optimizer, which is "
                        "adamw: a group names what differs from it, as in adamw { lr: 0.001 }"));
  EXPECT_THAT(OptimizerError("optimizer { lbfgs {} group { least_rank: 2 } }"),
              HasSubstr("optimizer.group must be left out with LBFGS"));
}

TEST(Kinds, ValuesOutOfRangeAreNamedWhereTheyStand) {
  EXPECT_THAT(OptimizerError("optimizer {\n  adam { beta2: 1 } }"),
              HasSubstr("c.textproto:2:10: optimizer.adam.beta2 = 1 is not in [0, 1)"));
  EXPECT_THAT(OptimizerError("optimizer { sgd { nesterov: true } }"),
              HasSubstr("optimizer.sgd.nesterov needs a momentum above 0 and no dampening"));
  EXPECT_THAT(
      OptimizerError(
          "optimizer { sgd { momentum: 0.9 nesterov: true } group { sgd { momentum: 0 } } }"),
      HasSubstr("optimizer.group[0].sgd.nesterov needs a momentum above 0"));
  EXPECT_THAT(OptimizerError("optimizer { lbfgs { history_size: 0 } }"),
              HasSubstr("optimizer.lbfgs.history_size must be at least 1, got 0"));
  EXPECT_THAT(LossError("loss { nll { class_axis: 2 } }"),
              HasSubstr("loss.nll.class_axis must be 1 or -1, got 2"));
  EXPECT_THAT(LossError("loss { multi_margin { p: 3 } }"),
              HasSubstr("loss.multi_margin.p must be"));
  EXPECT_THAT(LossError("loss { huber { delta: 0 } }"),
              HasSubstr("loss.huber.delta must be above 0"));
  EXPECT_THAT(ScheduleError("schedule { step {} }"),
              HasSubstr("schedule.step.step_size is missing"));
  EXPECT_THAT(ScheduleError("schedule { linear { end_factor: 0 } }"),
              HasSubstr("schedule.linear.start_factor is missing"));
  EXPECT_THAT(ScheduleError("schedule { polynomial { total: 0 } }"),
              HasSubstr("schedule.polynomial.total must be at least 1, got 0"));
  EXPECT_THAT(ScheduleError("schedule { multistep {} }"),
              HasSubstr("schedule.multistep.milestones is missing"));
  EXPECT_THAT(ScheduleError("schedule { plateau { threshold_mode: \"rel\" } }"),
              HasSubstr("c.textproto:1:38: "));
  EXPECT_THAT(ScheduleError("schedule { sequential { schedule { constant {} } milestones: 3 } }"),
              HasSubstr("schedule.sequential.schedule needs one more schedule than milestones, got "
                        "1 and 1"));
}

TEST(Kinds, FieldsThatDoNothing) {
  EXPECT_THAT(ScheduleError("schedule { one_cycle { cycle_momentum: false max_momentum: 1 } }"),
              HasSubstr("schedule.one_cycle.max_momentum does nothing: "));
  const auto cycled = [](const std::string& optimizer) {
    return ScheduleError("schedule { one_cycle { max_momentum: 0.9 } }", optimizer);
  };
  EXPECT_EQ(cycled("adamw {}"), "OK");
  EXPECT_EQ(cycled("sgd { momentum: 0.9 }"), "OK");
  EXPECT_EQ(cycled("sgd {} group { sgd { momentum: 0.9 } }"), "OK");
  for (const char* without : {"sgd {}", "rmsprop {}", "adagrad {}", "lbfgs {}"}) {
    EXPECT_THAT(cycled(without), HasSubstr("schedule.one_cycle.max_momentum does nothing: the "
                                           "optimizer has no momentum"));
  }
  EXPECT_THAT(LossError("loss { poisson_nll { eps: 1 } }"),
              HasSubstr("loss.poisson_nll.eps does nothing: "));
  EXPECT_EQ(LossError("loss { poisson_nll { eps: 1 log_input: false } }"), "OK");
}

TEST(Kinds, OverridesTakeAnotherKindWhole) {
  const std::string sound = absl::StrCat(kLoss, "optimizer { adamw { lr: 1e-3 } }", kRest);
  const auto set = [&](const std::vector<std::string>& fields) {
    const auto config = Read(sound, fields, "c.textproto");
    EXPECT_TRUE(config.ok()) << config.status();
    return config.value_or(TrainConfig());
  };
  EXPECT_EQ(set({"optimizer.adamw.lr=1e-4"}).optimizer().adamw().lr(), 1e-4);
  EXPECT_EQ(set({"optimizer.sgd={lr: 0.1}"}).optimizer().sgd().lr(), 0.1);
  EXPECT_EQ(set({"optimizer.sgd={}", "optimizer.sgd.lr=0.2"}).optimizer().sgd().lr(), 0.2);
  EXPECT_EQ(set({"optimizer={sgd { lr: 0.1 }}"}).optimizer().sgd().lr(), 0.1);
  EXPECT_EQ(set({"schedule.cosine.least=0.1"}).schedule().cosine().least(), 0.1);
  EXPECT_FALSE(set({"optimizer.adamw.lr="}).optimizer().adamw().has_lr());
  EXPECT_EQ(set({"loss.l1={}"}).loss().kind_case(), LossConfig::kL1);
  // A typo would throw away the kind that the config has, with all its options.
  EXPECT_THAT(SetError("optimizer.adam.lr=1e-4"),
              HasSubstr("--set optimizer.adam.lr=1e-4: optimizer.adam: the config's is adamw; "
                        "optimizer.adam={lr: ...} makes it adam"));
  EXPECT_THAT(SetError("schedule.step.step_size=4"),
              HasSubstr("schedule.step: the config's is cosine"));
}

TEST(Kinds, OverridesInFormerSpellings) {
  EXPECT_THAT(SetError("loss.kind=l1"), HasSubstr("loss.kind is written as a message of its own"));
  EXPECT_THAT(SetError("optimizer.name=SGD"), HasSubstr("optimizer.name is written as a message"));
  EXPECT_THAT(SetError("optimizer.options.lr=1"),
              HasSubstr("optimizer.options is written as the fields of the optimizer's kind now"));
  EXPECT_THAT(SetError("schedule={kind: 'cosine'}"),
              HasSubstr("schedule.kind is written as a message of its own now: schedule { cosine"));
  EXPECT_THAT(SetError("schedule={cosine { lest: 3 }}"),
              HasSubstr("--set schedule={cosine { lest: 3 }}: schedule.cosine.lest: no such field; "
                        "did you mean least? "));
  EXPECT_THAT(SetError("optimizer.group.0.options.lr=1"),
              HasSubstr("optimizer.group[0].options is written as"));
}

constexpr char kJson[] = R"("model": "m.onnx", "data": {"npz": {"path": ["d.npz"]}}, "steps": 1})";

TEST(Kinds, JsonIsToldTheSame) {
  const auto error = [](const std::string& begin) { return Error(begin + kJson, {}, "c.json"); };
  EXPECT_EQ(error(R"({"loss": {"crossEntropy": {"labelSmoothing": 0.1, "weight": [1, 2]}},
                      "optimizer": {"adamw": {"lr": 1e-3, "weight_decay": 0},
                                    "group": [{"leastRank": 2, "adamw": {"weightDecay": 0.1}}]},
                      "schedule": {"cosineRestarts": {"t0": 3}, "warmup": 20},)"),
            "OK");
  EXPECT_THAT(error("{\"loss\": {\n\"kind\": \"mse\"},"),
              HasSubstr("c.json:2:1: loss.kind is written as a message of its own now: "
                        "loss { mse {} }"));
  EXPECT_THAT(error("{\"optimizer\": {\"name\": \"SGD\"},"),
              HasSubstr("now: optimizer { sgd { lr: 0.001 } }"));
  EXPECT_THAT(error("{\"loss\": {\"mse\": {},\n \"l1\": {}},"),
              HasSubstr("c.json:2:2: loss.l1: loss has mse already, and takes one of the two"));
  EXPECT_THAT(
      error("{\"loss\": {\"crossEntropy\": {\"labelSmothing\": 1}},"),
      HasSubstr("c.json:1:28: loss.cross_entropy.labelSmothing: no such field; did you mean "
                "label_smoothing? "));
  EXPECT_THAT(error("{\"loss\": {}, \"optimizer\": {\"sgd\": {}},"),
              HasSubstr("c.json:1:2: loss must name a kind"));
}

TEST(Kinds, TextIsReadAsItsParserReadsIt) {
  const std::string config = R"(# comment { } loss
      loss < huber: { delta: 2 } > optimizer: { sgd { lr: .5 maximize: true } };
      model: 'a' "b" data { npz { path: ["d", 'e'] } shuffle: false }, steps: 0x10
      frozen: ["x", "y"] schedule { multistep { milestones: [1, 2] gamma: 5e-1f } })";
  const auto read = Read(config, {}, "c.textproto");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->model(), "ab");
  EXPECT_EQ(read->loss().huber().delta(), 2);
  EXPECT_EQ(read->schedule().multistep().milestones(1), 2);
  EXPECT_THAT(Error(config + " schedule { multistep { milestonse: -1 } }"),
              HasSubstr("schedule.multistep.milestonse: no such field; did you mean milestones?"));
  // What is not of the format is left to its parser.
  for (const char* wrong : {"loss { mse {}", "loss }", "steps: ", "loss { mse {} ] optimizer", "[",
                            "loss: [", "a.b: 3", "frozen: ['a' 'b'", "steps: -", "\"\n"})
    EXPECT_THAT(Error(wrong), HasSubstr("c.textproto:")) << wrong;
  std::string deep = "data ";
  for (int i = 0; i < 5000; ++i) deep += "{ a ";
  EXPECT_THAT(Error(deep), HasSubstr("c.textproto:1:8: data.a: no such field"));
  deep = "";
  for (int i = 0; i < 20000; ++i) deep += "schedule { sequential { ";
  EXPECT_THAT(Error(deep), HasSubstr("Message is too deep"));
  deep = "{sequential { ";
  for (int i = 0; i < 20000; ++i) deep += "schedule { sequential { ";
  EXPECT_THAT(SetError("schedule=" + deep), HasSubstr("is not a value of field 'schedule'"));
}

TEST(Kinds, DifferencesNameTheKind) {
  const auto fields = [](const std::string& text) {
    return FieldsOf(*Read(absl::StrCat(text, kLoss, kRest), {}, "c.textproto"));
  };
  EXPECT_THAT(DifferencesOf(fields("optimizer { adam { lr: 0.1 } }"),
                            fields("optimizer { adamw { lr: 0.1 } group { adamw { lr: 1 } } }")),
              ::testing::ElementsAre("optimizer.adam.lr: 0.1 -> nothing",
                                     "optimizer.adamw.lr: nothing -> 0.1",
                                     "optimizer.group.0.adamw.lr: nothing -> 1"));
}

}  // namespace
}  // namespace onward::training
