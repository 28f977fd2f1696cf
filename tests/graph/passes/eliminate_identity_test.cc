#include <gtest/gtest.h>

#include "graph/passes/passes.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

using testing::Nodes;
using testing::Optimize;

std::string After(const std::string& text) { return Nodes(Optimize(text, EliminateIdentity)); }

TEST(EliminateIdentity, BypassesIdentitiesInsideAGraph) {
  EXPECT_EQ(
      After("g (float[N,3] x) => (float[N,3] y) { a = Identity(x) b = Relu(a) y = Identity(b) }"),
      "y = Relu(x)\n");
}

TEST(EliminateIdentity, KeepsTheOneBetweenAnInputAndAnOutput) {
  EXPECT_EQ(After("g (float[3] x) => (float[3] y) { y = Identity(x) }"), "y = Identity(x)\n");
}

TEST(EliminateIdentity, KeepsBothNamesWhenOneValueIsTwoOutputs) {
  EXPECT_EQ(After("g (float[3] x) => (float[3] y, float[3] z) { y = Relu(x) z = Identity(y) }"),
            "y = Relu(x)\nz = Identity(y)\n");
}

TEST(EliminateIdentity, RemovesDropoutInInference) {
  EXPECT_EQ(After("g (float[3] x) => (float[3] y) { a = Relu(x) b, mask = Dropout(a) y = Neg(b) }"),
            "a = Relu(x)\ny = Neg(a)\n");
  EXPECT_EQ(After("g (float[3] x) => (float[3] y, bool[3] mask) { y, mask = Dropout(x) }"),
            "y, mask = Dropout(x)\n");
}

TEST(EliminateIdentity, KnowsWhichZerosAreNeutral) {
  const auto add = [](const char* zero) {
    return After(std::string("g (float[3] x) => (float[3] y) <float z = {") + zero +
                 "}> { a = Relu(x) b = Add(a, z) y = Neg(b) }");
  };
  EXPECT_EQ(add("0.0"), "a = Relu(x)\nb = Add(a, z)\ny = Neg(b)\n");
  EXPECT_EQ(add("-0.0"), "a = Relu(x)\ny = Neg(a)\n");
  EXPECT_EQ(After("g (int64[3] x) => (int64[3] y) <int64 z = {0}> { a = Add(x, z) y = Neg(a) }"),
            "y = Neg(x)\n");
  EXPECT_EQ(After("g (float[3] x) => (float[3] y) <float z = {0}> { a = Sub(x, z) y = Neg(a) }"),
            "y = Neg(x)\n");
  EXPECT_EQ(After("g (float[3] x) => (float[3] y) <float z = {0}> { a = Sub(z, x) y = Neg(a) }"),
            "a = Sub(z, x)\ny = Neg(a)\n");
}

TEST(EliminateIdentity, MultiplicationByOne) {
  EXPECT_EQ(After("g (float[3] x) => (float[3] y) <float[1] o = {1}> { a = Mul(o, x) y = Neg(a) }"),
            "y = Neg(x)\n");
  // The constant gives the result one more dim.
  EXPECT_EQ(
      After("g (float[3] x) => (float[1,3] y) <float[1,1] o = {1}> { a = Mul(o, x) y = Neg(a) }"),
      "a = Mul(o, x)\ny = Neg(a)\n");
  EXPECT_EQ(After("g (float[3] x) => (float[3] y) <float o = {1}> { a = Div(o, x) y = Neg(a) }"),
            "a = Div(o, x)\ny = Neg(a)\n");
}

TEST(EliminateIdentity, ShapesThatStay) {
  EXPECT_EQ(After("g (float[N,4] x) => (float[N,4] y) <int64[2] s = {0, 4}>"
                  "{ a = Reshape(x, s) y = Neg(a) }"),
            "y = Neg(x)\n");
  EXPECT_EQ(After("g (float[N,4] x) => (float[M,2] y) <int64[2] s = {-1, 2}>"
                  "{ a = Reshape(x, s) y = Neg(a) }"),
            "a = Reshape(x, s)\ny = Neg(a)\n");
  EXPECT_EQ(
      After("g (float[N,4] x) => (float[N,4] y) { a = Transpose <perm = [0, 1]> (x) y = Neg(a) }"),
      "y = Neg(x)\n");
  EXPECT_EQ(After("g (float[N,4] x) => (float[N,4] y)"
                  "<int64[1] s = {0}, int64[1] e = {9223372036854775807}, int64[1] a = {0}>"
                  "{ b = Slice(x, s, e, a) y = Neg(b) }"),
            "y = Neg(x)\n");
  EXPECT_EQ(After("g (float[2,4] x) => (float[2,4] y) <int64[4] p = {0, 0, 0, 0}>"
                  "{ a = Pad(x, p) b = Concat <axis = 0> (a) y = Neg(b) }"),
            "y = Neg(x)\n");
}

TEST(EliminateIdentity, ReversedSliceStays) {
  EXPECT_EQ(After("g (float[4] x) => (float[4] y) <int64[1] s = {-1}, int64[1] e = "
                  "{-9223372036854775807}, int64[1] a = {0}, int64[1] t = {-1}>"
                  "{ b = Slice(x, s, e, a, t) y = Neg(b) }"),
            "b = Slice(x, s, e, a, t)\ny = Neg(b)\n");
}

TEST(EliminateIdentity, UniformConditions) {
  EXPECT_EQ(After("g (float[3] x, float[3] z) => (float[3] y) <bool[1] c = {0}>"
                  "{ a = Where(c, z, x) y = Neg(a) }"),
            "y = Neg(x)\n");
  EXPECT_EQ(After("g (float[3] x, float[1] z) => (float[3] y) <bool[3] c = {1, 1, 1}>"
                  "{ a = Where(c, x, z) y = Neg(a) }"),
            "y = Neg(x)\n");
  // Not uniform, and a branch of another shape.
  EXPECT_EQ(After("g (float[2] x, float[2] z) => (float[2] y) <bool[2] c = {0, 1}>"
                  "{ a = Where(c, z, x) y = Neg(a) }"),
            "a = Where(c, z, x)\ny = Neg(a)\n");
  EXPECT_EQ(After("g (float[1] x, float[3] z) => (float[3] y) <bool[1] c = {0}>"
                  "{ a = Where(c, z, x) y = Neg(a) }"),
            "a = Where(c, z, x)\ny = Neg(a)\n");
}

TEST(EliminateIdentity, Involutions) {
  EXPECT_EQ(
      After("g (bool[3] x) => (bool[3] y) { a = Not(x) b = Not(a) c = Not(b) y = Identity(c) }"),
      "y = Not(x)\n");
}

TEST(EliminateIdentity, CastToTheSameType) {
  EXPECT_EQ(After("g (float[3] x) => (float[3] y) { a = Cast <to = 1> (x) y = Neg(a) }"),
            "y = Neg(x)\n");
}

}  // namespace
}  // namespace onward
