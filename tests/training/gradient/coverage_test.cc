// Every differentiable operator of the standard has a gradient, and every rule has a case.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "onnx/defs/schema.h"
#include "onward/gradient.h"
#include "tests/support/case_file.h"
#include "tests/support/gradient_case.h"
#include "training/gradient/rules.h"

namespace onward::training {
namespace {

const std::string kFolder = absl::StrCat(ONWARD_SOURCE_DIR, "/tests/training/gradient/cases");

// The operators that the standard marks as differentiable, and others of use in training.
std::set<std::string> Wanted() {
  std::set<std::string> ops = {"AffineGrid",
                               "Attention",
                               "DFT",
                               "DeformConv",
                               "DequantizeLinear",
                               "If",
                               "LayerNormalization",
                               "Loop",
                               "OneHot",
                               "QuantizeLinear",
                               "RMSNormalization",
                               "ReverseSequence",
                               "RoiAlign",
                               "RotaryEmbedding",
                               "STFT",
                               "Scan"};
  for (const onnx::OpSchema& schema : onnx::OpSchemaRegistry::get_all_schemas()) {
    if (!schema.domain().empty() || schema.Deprecated()) continue;
    for (const auto& input : schema.inputs()) {
      if (input.GetDifferentiationCategory() == onnx::OpSchema::Differentiable)
        ops.insert(schema.Name());
    }
  }
  return ops;
}

// Differentiated through what their bodies are made of.
const std::set<std::string> kByBody = {"CausalConvWithState", "LinearAttention", "RotaryEmbedding",
                                       "SwiGLU"};

TEST(GradientCoverage, EveryDifferentiableOperatorHasARuleOrABody) {
  const std::set<std::string> wanted = Wanted();
  EXPECT_GE(wanted.size(), 130);
  for (const std::string& op : wanted) {
    if (FindGradient("", op)) {
      EXPECT_EQ(kByBody.count(op), 0) << op;
      continue;
    }
    EXPECT_EQ(kByBody.count(op), 1) << op << " has no gradient";
    const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(op, 28, "");
    ASSERT_NE(schema, nullptr) << op;
    EXPECT_TRUE(schema->HasFunction() || schema->HasContextDependentFunction()) << op;
  }
}

bool AllowsFloat(const std::vector<onnx::OpSchema::FormalParameter>& parameters) {
  for (const auto& parameter : parameters) {
    for (const auto* type : parameter.GetTypes()) {
      if (type->find("float)") != std::string::npos) return true;
    }
  }
  return false;
}

// Ops from floats to floats without a gradient, each with the reason.
const std::map<std::string, std::string> kWithout = {
    {"MelWeightMatrix", "its floats are limits of frequency bands, which are rounded to bins"},
    {"Unique", "which elements are equal is decided by all of them"},
};

TEST(GradientCoverage, EveryOperatorOnFloatsIsDecided) {
  for (const onnx::OpSchema& schema : onnx::OpSchemaRegistry::get_all_schemas()) {
    if (!schema.domain().empty() || schema.Deprecated()) continue;
    if (!AllowsFloat(schema.inputs()) || !AllowsFloat(schema.outputs())) continue;
    const bool body = schema.HasFunction() || schema.HasContextDependentFunction();
    const bool decided = FindGradient("", schema.Name()).has_value() || body;
    EXPECT_NE(decided, kWithout.count(schema.Name()) != 0) << schema.Name();
  }
}

// Rules with tests of their own beside this one.
const std::set<std::string> kElsewhere = {"AllReduce",
                                          "ConcatFromSequence",
                                          "Dropout",
                                          "GRU",
                                          "If",
                                          "LSTM",
                                          "Loop",
                                          "Optional",
                                          "OptionalGetElement",
                                          "RNN",
                                          "RequireRange",
                                          "RequireShape",
                                          "Scan",
                                          "SequenceAt",
                                          "SequenceConstruct",
                                          "SequenceErase",
                                          "SequenceInsert",
                                          "SplitToSequence",
                                          "StopGradient"};

TEST(GradientCoverage, EveryRuleHasACase) {
  std::string text;
  int cases = 0;
  for (const std::string& family : testing::CaseFamilies(kFolder)) {
    std::ifstream file(absl::StrCat(kFolder, "/", family, ".txt"));
    std::stringstream all;
    all << file.rdbuf();
    text += all.str();
  }
  for (size_t at = text.find("\n}\n"); at != std::string::npos; at = text.find("\n}\n", at + 1))
    ++cases;
  EXPECT_GE(cases, 300);
  for (const GradientEntry& entry : GradientRules()) {
    if (entry.rule == nullptr || kElsewhere.count(std::string(entry.op)) != 0) continue;
    const std::string domain = entry.domain.empty() ? "" : std::string(entry.domain) + ".";
    const std::string call = absl::StrCat("= ", domain, std::string(entry.op), " ");
    EXPECT_NE(text.find(call), std::string::npos) << entry.op << " has no case";
  }
  for (const std::string& op : kByBody)
    EXPECT_NE(text.find(absl::StrCat("= ", op, " ")), std::string::npos) << op << " has no case";
}

}  // namespace
}  // namespace onward::training
