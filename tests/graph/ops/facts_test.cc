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
  for (const auto& family : {ElementwiseFacts, LayoutFacts, RandomFacts, ConstantFacts}) {
    for (const OpFacts& facts : family()) {
      EXPECT_NE(FindSchema(std::string(facts.op), ""), nullptr) << facts.op;
    }
  }
  for (const OpFacts& facts : OnwardFacts()) {
    EXPECT_NE(FindSchema(std::string(facts.op), kOnwardDomain), nullptr) << facts.op;
  }
}

TEST(Facts, Samples) {
  EXPECT_EQ(FindFacts("MatMul", "")->autocast, AutocastClass::kLower);
  EXPECT_EQ(FindFacts("Softmax", "")->autocast, AutocastClass::kFull);
  EXPECT_TRUE(FindFacts("Reshape", "")->view);
  EXPECT_TRUE(FindFacts("RandomNormal", "")->random);
  EXPECT_TRUE(FindFacts("Shape", "")->reads_shape_only);
  EXPECT_EQ(FindFacts("MatMul", "com.example"), nullptr);
}

}  // namespace
}  // namespace onward
