// Every step between two versions of an op in ONNX's registry is decided: a rule, or a row here
// that says its meaning stays.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "graph/ops/opset.h"
#include "gtest/gtest.h"
#include "onnx/defs/schema.h"
#include "onnx_io/upgrade/rules.h"
#include "onward/import.h"

namespace onward::onnx_io {
namespace {

struct Unchanged {
  std::string domain;
  std::string op;
  std::vector<int> steps;  // the versions that kept the meaning of the version before
};

// Wider types, better words, and options whose default is the old meaning. Not as plain as that:
// - AveragePool 22, MaxPool 22: windows that start in the far padding are ignored. What the
// versions
//   before said of them was not a usable value, and runtimes ignored them before.
// - ConvTranspose 11: version 1 told SAME_UPPER in two ways; the newer one follows one of them.
// - Range 27: stash_type is for float16 and bfloat16, which version 11 did not take.
// - Attention 24, 25: corrections of the text apply to all versions alike.
// - Scatter 11, Upsample 10: deprecated; the names still mean what they did.
// - TreeEnsembleClassifier, TreeEnsembleRegressor 5: deprecated, with a schema that still describes
//   them; they stay.
// clang-format off
const Unchanged kUnchanged[] = {
    {"", "Abs", {13}},
    {"", "Acos", {22}},
    {"", "Acosh", {22}},
    {"", "Add", {13, 14}},
    {"", "ArgMax", {11, 12, 13}},
    {"", "ArgMin", {11, 12, 13}},
    {"", "Asin", {22}},
    {"", "Asinh", {22}},
    {"", "Atan", {22}},
    {"", "Atanh", {22}},
    {"", "Attention", {24, 25}},
    {"", "AveragePool", {7, 10, 11, 19, 22}},
    {"", "BatchNormalization", {15}},
    {"", "Bernoulli", {22}},
    {"", "BitShift", {28}},
    {"", "Cast", {9, 13, 19, 21, 23, 24, 25, 28}},
    {"", "CastLike", {19, 21, 23, 24, 25}},
    {"", "Ceil", {13}},
    {"", "Celu", {28}},
    {"", "Clip", {12, 13}},
    {"", "Compress", {11, 28}},
    {"", "Concat", {11, 13}},
    {"", "Constant", {9, 11, 12, 13, 19, 21, 23, 24, 25}},
    {"", "ConstantOfShape", {20, 21, 23, 24, 25}},
    {"", "Conv", {11, 22}},
    {"", "ConvTranspose", {11, 22}},
    {"", "Cos", {22}},
    {"", "Cosh", {22}},
    {"", "CumSum", {14}},
    {"", "DeformConv", {22}},
    {"", "DepthToSpace", {11, 13, 28}},
    {"", "DequantizeLinear", {13, 19, 21, 23, 24, 25, 28}},
    {"", "Det", {22}},
    {"", "Div", {13, 14}},
    {"", "Dropout", {13, 22}},
    {"", "Einsum", {28}},
    {"", "Elu", {22}},
    {"", "Equal", {11, 13, 19}},
    {"", "Erf", {13}},
    {"", "Exp", {13}},
    {"", "Expand", {13}},
    {"", "EyeLike", {22}},
    {"", "Flatten", {9, 11, 13, 21, 23, 24, 25}},
    {"", "Floor", {13}},
    {"", "GRU", {14, 22}},
    {"", "Gather", {11, 13}},
    {"", "GatherElements", {13}},
    {"", "GatherND", {12, 13}},
    {"", "Gemm", {6, 9, 11, 13}},
    {"", "GlobalAveragePool", {22}},
    {"", "GlobalLpPool", {22}},
    {"", "GlobalMaxPool", {22}},
    {"", "Greater", {9, 13}},
    {"", "GreaterOrEqual", {16}},
    {"", "GridSample", {22}},
    {"", "HardSigmoid", {22}},
    {"", "HardSwish", {22}},
    {"", "Hardmax", {11}},
    {"", "Identity", {13, 14, 16, 19, 21, 23, 24, 25}},
    {"", "If", {11, 13, 16, 19, 21, 23, 24, 25}},
    {"", "InstanceNormalization", {22}},
    {"", "IsInf", {20}},
    {"", "IsNaN", {13, 20}},
    {"", "LRN", {13}},
    {"", "LSTM", {14, 22}},
    {"", "LeakyRelu", {16}},
    {"", "Less", {9, 13}},
    {"", "LessOrEqual", {16}},
    {"", "Log", {13}},
    {"", "LogSoftmax", {11}},
    {"", "Loop", {11, 13, 16, 19, 21, 23, 24, 25}},
    {"", "LpNormalization", {22}},
    {"", "LpPool", {11, 18, 22}},
    {"", "MatMul", {9, 13}},
    {"", "Max", {8, 12, 13}},
    {"", "MaxPool", {8, 10, 11, 12, 22}},
    {"", "MaxRoiPool", {22}},
    {"", "MaxUnpool", {11, 22}},
    {"", "Mean", {8, 13}},
    {"", "MeanVarianceNormalization", {13}},
    {"", "Min", {8, 12, 13}},
    {"", "Mish", {22}},
    {"", "Mod", {13, 28}},
    {"", "Mul", {13, 14}},
    {"", "Multinomial", {22}},
    {"", "Neg", {13}},
    {"", "NegativeLogLikelihoodLoss", {13, 22}},
    {"", "NonMaxSuppression", {11}},
    {"", "NonZero", {13}},
    {"", "OneHot", {28}},
    {"", "Optional", {28}},
    {"", "OptionalGetElement", {18, 28}},
    {"", "OptionalHasElement", {18, 28}},
    {"", "PRelu", {9, 16}},
    {"", "Pad", {13, 18, 19, 21, 23, 24, 25}},
    {"", "Pow", {12, 13, 15}},
    {"", "QLinearMatMul", {21}},
    {"", "QuantizeLinear", {13, 19, 21, 23, 24, 25, 28}},
    {"", "RNN", {14, 22}},
    {"", "RandomNormal", {22}},
    {"", "RandomNormalLike", {22}},
    {"", "RandomUniform", {22}},
    {"", "RandomUniformLike", {22}},
    {"", "Range", {27}},
    {"", "Reciprocal", {13}},
    {"", "ReduceL1", {11, 13}},
    {"", "ReduceL2", {11, 13}},
    {"", "ReduceLogSum", {11, 13}},
    {"", "ReduceLogSumExp", {11, 13}},
    {"", "ReduceMax", {11, 12, 13, 20}},
    {"", "ReduceMean", {11, 13}},
    {"", "ReduceMin", {11, 12, 13, 20}},
    {"", "ReduceProd", {11, 13}},
    {"", "ReduceSum", {11}},
    {"", "ReduceSumSquare", {11, 13}},
    {"", "Relu", {13, 14}},
    {"", "Reshape", {13, 14, 19, 21, 23, 24, 25}},
    {"", "Resize", {18, 19}},
    {"", "ReverseSequence", {28}},
    {"", "RoiAlign", {22}},
    {"", "Round", {22}},
    {"", "Scan", {11, 16, 19, 21, 23, 24, 25}},
    {"", "Scatter", {11}},
    {"", "ScatterElements", {13, 16, 18}},
    {"", "ScatterND", {13, 16, 18}},
    {"", "Selu", {22}},
    {"", "Shape", {13, 15, 19, 21, 23, 24, 25}},
    {"", "Sigmoid", {13}},
    {"", "Sign", {13}},
    {"", "Sin", {22}},
    {"", "Sinh", {22}},
    {"", "Size", {13, 19, 21, 23, 24, 25}},
    {"", "Slice", {11, 13}},
    {"", "Softmax", {11}},
    {"", "SoftmaxCrossEntropyLoss", {13}},
    {"", "Softplus", {22}},
    {"", "Softsign", {22}},
    {"", "SpaceToDepth", {13, 28}},
    {"", "Split", {11}},
    {"", "SplitToSequence", {24}},
    {"", "Sqrt", {13}},
    {"", "Squeeze", {11, 21, 23, 24, 25}},
    {"", "Sub", {13, 14}},
    {"", "Sum", {8, 13}},
    {"", "Tan", {22}},
    {"", "Tanh", {13}},
    {"", "ThresholdedRelu", {22}},
    {"", "Tile", {13}},
    {"", "TopK", {11, 24}},
    {"", "Transpose", {13, 21, 23, 24, 25}},
    {"", "Unique", {28}},
    {"", "Unsqueeze", {11, 21, 23, 24, 25}},
    {"", "Upsample", {10}},
    {"", "Where", {16}},
    {"ai.onnx.ml", "LabelEncoder", {4}},
    {"ai.onnx.ml", "TreeEnsembleClassifier", {3, 5}},
    {"ai.onnx.ml", "TreeEnsembleRegressor", {3, 5}},
};
// clang-format on

using Key = std::pair<std::string, std::string>;

std::map<Key, std::map<int, onnx::OpSchema>> Registry() {
  std::map<Key, std::map<int, onnx::OpSchema>> registry;
  for (const onnx::OpSchema& schema : onnx::OpSchemaRegistry::get_all_schemas_with_history()) {
    registry[{schema.domain(), schema.Name()}].emplace(schema.since_version(), schema);
  }
  return registry;
}

std::set<std::tuple<std::string, std::string, int>> UnchangedSteps() {
  std::set<std::tuple<std::string, std::string, int>> steps;
  for (const Unchanged& row : kUnchanged) {
    for (int step : row.steps) steps.emplace(row.domain, row.op, step);
  }
  return steps;
}

bool HasRule(const Key& op, int until) {
  for (const UpgradeRule& rule : UpgradeRulesOf(op.first, op.second)) {
    if (rule.until == until) return true;
  }
  return false;
}

TEST(UpgradeRulesTest, EveryStepOfEveryOpIsDecidedOnce) {
  std::set<std::tuple<std::string, std::string, int>> unchanged = UnchangedSteps();
  for (const auto& [op, versions] : Registry()) {
    if (op.first != "" && op.first != "ai.onnx.ml") continue;
    for (auto it = std::next(versions.begin()); it != versions.end(); ++it) {
      const bool listed = unchanged.erase({op.first, op.second, it->first}) > 0;
      EXPECT_NE(listed, HasRule(op, it->first))
          << op.first << " " << op.second << " " << it->first
          << (listed ? ": a rule and a row here" : ": neither a rule nor a row here");
    }
  }
  for (const auto& [domain, op, step] : unchanged) {
    ADD_FAILURE() << domain << " " << op << " " << step << ": no such step";
  }
}

// Whether every node that is valid by `before` is valid by `after` and has the same defaults.
void ExpectExtends(const onnx::OpSchema& before, const onnx::OpSchema& after) {
  const std::string step = before.Name() + " " + std::to_string(before.since_version()) + " -> " +
                           std::to_string(after.since_version());
  for (const auto& [name, attribute] : before.attributes()) {
    const auto it = after.attributes().find(name);
    ASSERT_NE(it, after.attributes().end()) << step << " loses " << name;
    EXPECT_EQ(attribute.type, it->second.type) << step << " " << name;
    if (!attribute.required) {
      EXPECT_FALSE(it->second.required) << step << " " << name;
      EXPECT_EQ(attribute.default_value.SerializeAsString(),
                it->second.default_value.SerializeAsString())
          << step << " " << name;
    }
  }
  for (const auto& [name, attribute] : after.attributes()) {
    if (before.attributes().count(name) == 0) {
      EXPECT_FALSE(attribute.required) << step << " " << name;
    }
  }
  EXPECT_LE(after.min_input(), before.min_input()) << step;
  EXPECT_GE(after.max_input(), before.max_input()) << step;
  EXPECT_LE(after.min_output(), before.min_output()) << step;
  EXPECT_GE(after.max_output(), before.max_output()) << step;
}

TEST(UpgradeRulesTest, StepsWithoutRuleOnlyExtendTheSchema) {
  const auto registry = Registry();
  for (const Unchanged& row : kUnchanged) {
    const auto& versions = registry.at({row.domain, row.op});
    for (int step : row.steps) {
      const auto it = versions.find(step);
      ASSERT_NE(it, versions.end()) << row.op << " " << step;
      ExpectExtends(std::prev(it)->second, it->second);
    }
  }
}

TEST(UpgradeRulesTest, RulesAreSortedAndUnique) {
  const UpgradeRules& rules = AllUpgradeRules();
  for (size_t i = 1; i < rules.size(); ++i) {
    const auto key = [&](size_t k) {
      return std::make_tuple(rules[k].domain, rules[k].op, rules[k].until);
    };
    EXPECT_LT(key(i - 1), key(i)) << rules[i].op << " " << rules[i].until;
    EXPECT_LE(rules[i].until, kOpset);
  }
}

}  // namespace
}  // namespace onward::onnx_io
