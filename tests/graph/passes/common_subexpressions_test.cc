#include <gtest/gtest.h>

#include "graph/passes/passes.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

using testing::Nodes;
using testing::Optimize;

std::string After(const std::string& text) { return Nodes(Optimize(text, CommonSubexpressions)); }

TEST(CommonSubexpressions, EqualChainsOverEqualConstants) {
  EXPECT_EQ(After("g (float[3] x) => (float[3] y) <float c = {2}, float d = {2}> {"
                  "a = Mul(x, c) b = Mul(x, d) e = Exp(a) f = Exp(b) y = Sub(e, f) }"),
            "a = Mul(x, c)\ne = Exp(a)\ny = Sub(e, e)\n");
}

TEST(CommonSubexpressions, AttributesAndZerosMatter) {
  const char* text =
      "g (float[3] x) => (float[3] y) <float c = {0.0}, float d = {-0.0}> {"
      "a = LeakyRelu <alpha = 0.5> (x) b = LeakyRelu <alpha = 0.25> (x)"
      "e = Add(a, c) f = Add(b, d) y = Sub(e, f) }";
  EXPECT_EQ(After(text),
            "a = LeakyRelu(x)\nb = LeakyRelu(x)\ne = Add(a, c)\nf = Add(b, d)\ny = Sub(e, f)\n");
}

TEST(CommonSubexpressions, TwoOutputsKeepTheirNames) {
  EXPECT_EQ(After("g (float[3] x) => (float[3] y, float[3] z) { y = Exp(x) z = Exp(x) }"),
            "y = Exp(x)\nz = Identity(y)\n");
}

TEST(CommonSubexpressions, RandomNumbersDiffer) {
  auto model = testing::ModelFromText(
      "g (float[3] x) => (float[3] y) { a = RandomNormalLike(x) b = RandomNormalLike(x) "
      "y = Sub(a, b) }");
  ASSERT_TRUE(model.ok()) << model.status();
  int budget = 100;
  EXPECT_EQ(*CommonSubexpressions(model->graph, {}, budget), 0);
}

}  // namespace
}  // namespace onward
