#include "graph/ops/facts.h"

#include <gtest/gtest.h>

#include <set>

#include "graph/ops/onward_schemas.h"
#include "graph/ops/opset.h"
#include "onnx/defs/schema.h"

namespace onward {
namespace {

TEST(Facts, EveryOpOfTheStandardHasARow) {
  std::set<std::string> names;
  for (const onnx::OpSchema& schema : onnx::OpSchemaRegistry::get_all_schemas_with_history()) {
    if (schema.domain().empty()) names.insert(schema.Name());
  }
  for (const std::string& name : names) {
    const onnx::OpSchema* schema = FindSchema(name, "");
    if (schema == nullptr || schema->deprecated()) continue;
    EXPECT_NE(FindFacts(name, ""), nullptr) << name;
  }
}

TEST(Facts, EveryRowNamesAnOp) {
  for (const auto& family : FactFamilies()) {
    for (const OpFacts& facts : family()) {
      EXPECT_NE(FindSchema(std::string(facts.op), std::string(facts.domain)), nullptr)
          << facts.domain << "." << facts.op;
      EXPECT_EQ(FindFacts(facts.op, facts.domain), &facts) << "two rows of " << facts.op;
    }
  }
}

TEST(Facts, Samples) {
  EXPECT_EQ(FindFacts("MatMul", "")->autocast, AutocastClass::kLower);
  EXPECT_EQ(FindFacts("Softmax", "")->autocast, AutocastClass::kFull);
  EXPECT_TRUE(FindFacts("Reshape", "")->view);
  EXPECT_TRUE(FindFacts("RandomNormal", "")->random);
  EXPECT_TRUE(FindFacts("Shape", "")->reads_shape_only);
  EXPECT_EQ(FindFacts("MatMul", "com.example"), nullptr);
  EXPECT_EQ(FindFacts("Mish", "")->widening, Widening::kComputes);
  EXPECT_EQ(FindFacts("Transpose", "")->widening, Widening::kMoves);
  EXPECT_EQ(FindFacts("NonZero", "")->widening, Widening::kNever);
  EXPECT_EQ(FindFacts("FusedConv", "onward")->autocast, AutocastClass::kLower);
}

}  // namespace
}  // namespace onward
