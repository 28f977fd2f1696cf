// Parameters of a PyTorch source that an optimized export computed with or left out: they are named
// with what to do.
#include "training/source/folded_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "graph/ir/graph_edit.h"
#include "tests/support/text_model.h"
#include "training/prepare/restore_source.h"

namespace onward::training {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// What torch.onnx.export(dynamo=True) makes of
//   x = x + (token + segment)                  two tables of positions: one initializer
//   x = x * (g / v.norm() * v)                 weight norm: another one
//   x = x * scale[None] / temperature          elements of scale; a temperature of 1
//   x = linear(x, fc.weight, fc.bias)          a bias of zeros
constexpr char kGraph[] =
    "g (float[3,2] x) => (float sum_1) <float[3,2] add = {1, 2, 3, 4, 5, 6}, "
    "float[2] mul = {7, 8}, float[1,2] unsqueeze = {9, 10}, "
    "float[2,2] \"fc.weight\" = {11, 12, 13, 14}> {"
    "add_1 = Add(x, add) mul_1 = Mul(add_1, mul) mul_2 = Mul(mul_1, unsqueeze) "
    "linear = MatMul(mul_2, \"fc.weight\") sum_1 = ReduceSum <keepdims = 0> (linear) }";

class FoldedWeightsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto model = testing::ModelFromText(kGraph);
    ASSERT_TRUE(model.ok()) << model.status();
    model_ = *std::move(model);
    model_.graph.metadata["pkg.torch.export.ExportedProgram.graph_signature"] =
        "# inputs\np_token: PARAMETER target='token'\np_segment: PARAMETER target='segment'\n"
        "p_g: PARAMETER target='g'\np_v: PARAMETER target='v'\np_scale: PARAMETER target='scale'\n"
        "p_temperature: PARAMETER target='temperature'\n"
        "p_fc_weight: PARAMETER target='fc.weight'\np_fc_bias: PARAMETER target='fc.bias'\n"
        "x: USER_INPUT\n\n# outputs\nsum_1: USER_OUTPUT\n";
    Folded("add", "['segment', 'token']");
    Folded("mul", "['div', 'g', 'linalg_vector_norm', 'v']");
    Folded("unsqueeze", "['scale', 'val_3']");
    Fx("add_1", "aten.add.Tensor](args = (%x, %add)");
    Fx("mul_1", "aten.mul.Tensor](args = (%add_1, %mul)");
    Fx("mul_2", "aten.mul.Tensor](args = (%mul_1, %unsqueeze)");
    Fx("linear", "aten.linear.default](args = (%div_1, %p_fc_weight, %p_fc_bias)");
    Fx("sum_1", "aten.sum.default](args = (%linear,)");
  }

  void Folded(const std::string& name, const std::string& from) {
    GraphEdit(model_.graph)
        .metadata(model_.graph.FindValue(name))["pkg.onnxscript.optimizer.folded_from"] = from;
  }
  void Fx(const std::string& name, const std::string& call) {
    const NodeId node = model_.graph.value(model_.graph.FindValue(name)).producer;
    GraphEdit(model_.graph).node(node).metadata["pkg.torch.onnx.fx_node"] = absl::StrCat(
        "%", name, " : [num_users=1] = call_function[target=torch.ops.", call, ", kwargs = {})");
  }

  Model model_;
  std::vector<std::string> initializers_ = {"add", "mul", "unsqueeze", "fc.weight"};
};

TEST_F(FoldedWeightsTest, AreFound) {
  const FoldedWeights found = FindFoldedWeights(model_.graph, initializers_);
  ASSERT_EQ(found.computed.size(), 2u);  // not scale[None], whose elements are all there
  EXPECT_EQ(found.computed[0].name, "add");
  EXPECT_EQ(found.computed[0].of, "segment', 'token");
  EXPECT_EQ(found.computed[1].name, "mul");
  EXPECT_EQ(found.computed[1].of, "g', 'v");
  EXPECT_THAT(found.left_out, ElementsAre("fc.bias"));
  EXPECT_THAT(found.absent, ElementsAre("temperature"));
}

TEST_F(FoldedWeightsTest, AreNamedWithWhatToDo) {
  std::vector<std::string> warnings;
  const LogSink log = [&](const LogRecord& record) { warnings.push_back(record.message); };
  ASSERT_TRUE(RestoreSource(model_.graph, initializers_, {}, log).ok());
  const auto advice = HasSubstr("torch.onnx.export(..., optimize=False) keeps all parameters");
  EXPECT_THAT(
      warnings,
      ElementsAre(
          AllOf(HasSubstr("the exporter computed 2 weights from parameters of the source: "
                          "'add' (of 'segment', 'token'), 'mul' (of 'g', 'v'); "),
                advice, Not(HasSubstr("scale"))),
          AllOf(HasSubstr("the exporter left out parameters"), HasSubstr(": 'fc.bias'; "), advice),
          AllOf(HasSubstr("the file has nothing of these parameters of the source"),
                HasSubstr(": 'temperature'; "), advice)));
}

// In a file that says nothing there is nothing to find.
TEST_F(FoldedWeightsTest, SilentFilesHaveNone) {
  const auto model = testing::ModelFromText(kGraph);
  ASSERT_TRUE(model.ok()) << model.status();
  const FoldedWeights found = FindFoldedWeights(model->graph, initializers_);
  EXPECT_THAT(found.computed, IsEmpty());
  EXPECT_THAT(found.left_out, IsEmpty());
  EXPECT_THAT(found.absent, IsEmpty());
}

}  // namespace
}  // namespace onward::training
