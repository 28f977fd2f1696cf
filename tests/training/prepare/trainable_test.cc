// What a choice of weights rests on, and what it says.
#include "training/prepare/trainable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "graph/ir/graph_edit.h"
#include "tests/support/text_model.h"

namespace onward::training {
namespace {

using ::testing::HasSubstr;

constexpr char kKind[] = "pkg.torch.export.graph_signature.InputSpec.kind";

class TrainableTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto model = testing::ModelFromText(
        "g (float[4,2] x) => (float y) <float[2] w = {1,2}, float[2] m = {0,1}, float[2] u = "
        "{1,1}, "
        "float[2] val_3 = {3,4}, float[2] val_4 = {5,6}, float[2] plain = {7,8}> {"
        "a = Mul(x, w) b = Mul(a, m) c = Add(b, val_3) d = Add(c, val_4) e = Add(d, plain) "
        "unread = Mul(x, u) y = ReduceSum <keepdims = 0> (e) }");
    ASSERT_TRUE(model.ok()) << model.status();
    model_ = *std::move(model);
  }
  void Say(const std::string& name, const std::string& key, const std::string& value) {
    GraphEdit(model_.graph).metadata(model_.graph.FindValue(name))[key] = value;
  }
  // By name: what ChoiceText says, after "+" where it is trained.
  std::map<std::string, std::string> Choices(const std::vector<std::string>& trainable = {},
                                             const std::vector<std::string>& frozen = {}) {
    const auto choices =
        ChooseTrainable(model_, all_, model_.graph.outputs()[0], trainable, frozen);
    EXPECT_TRUE(choices.ok()) << choices.status();
    std::map<std::string, std::string> texts;
    for (const WeightChoice& choice : *choices)
      texts[choice.name] = (choice.trained ? "+" : "") + ChoiceText(choice);
    summary_ = ChoiceSummary(*choices);
    return texts;
  }

  Model model_;
  std::vector<std::string> all_ = {"w", "m", "u", "val_3", "val_4", "plain"};
  std::string summary_;
};

TEST_F(TrainableTest, FollowsTheFile) {
  Say("w", kKind, "PARAMETER");
  Say("m", kKind, "BUFFER");
  Say("u", kKind, "PARAMETER");
  Say("val_3", "pkg.onnxscript.optimizer.folded_from", "['w', 'transpose']");
  auto choices = Choices();
  EXPECT_EQ(choices["w"], "+model: a parameter");
  EXPECT_EQ(choices["m"], "model: a buffer");
  EXPECT_EQ(choices["u"], "graph: no gradient path leads from the loss to it");
  EXPECT_EQ(choices["val_3"], "+model: moved from 'w'");
  EXPECT_EQ(choices["val_4"], "model: a constant");
  EXPECT_EQ(choices["plain"], "+guess: an initializer of floats");
  EXPECT_EQ(summary_,
            "3 weights are trained (2 the model says so, 1 guessed: the file does not say what "
            "they are); 3 are frozen (2 buffers and constants, as the model says, 1 without a path "
            "to the loss)");
  Say("val_3", "pkg.onnxscript.optimizer.folded_from", "['w', 'detach_1']");
  EXPECT_EQ(Choices()["val_3"], "model: detached 'w'");
  Say("val_3", "pkg.onnxscript.optimizer.folded_from", "['w', 'mul']");
  EXPECT_EQ(Choices()["val_3"], "+model: computed from 'w'");
  Say("val_3", "pkg.onnxscript.optimizer.folded_from", "['m', 'mul']");
  EXPECT_EQ(Choices()["val_3"], "model: a constant");
}

TEST_F(TrainableTest, TheConfigDecides) {
  Say("w", kKind, "PARAMETER");
  Say("m", kKind, "BUFFER");
  auto choices = Choices({"m", "w"}, {"w"});
  EXPECT_EQ(choices["m"], "+config: named in `trainable`");
  EXPECT_EQ(choices["w"], "config: named in `frozen`");
  EXPECT_EQ(choices["plain"], "config: not named in `trainable`");
  const auto unread = TrainableParameters(model_, all_, model_.graph.outputs()[0],
                                          std::vector<std::string>{"u"}, {});
  EXPECT_THAT(std::string(unread.status().message()),
              HasSubstr("'u' cannot be trained: no gradient path leads from the loss to it"));
}

TEST_F(TrainableTest, FilesThatSayNothingAreGuessed) {
  auto choices = Choices();
  EXPECT_EQ(choices["m"], "+guess: an initializer of floats");
  EXPECT_EQ(choices["val_4"], "+guess: an initializer of floats");
  EXPECT_THAT(summary_, HasSubstr("5 guessed: the file does not say what they are"));
}

}  // namespace
}  // namespace onward::training
