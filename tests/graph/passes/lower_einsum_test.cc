#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/passes/passes.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

using testing::Nodes;
using testing::Optimize;

std::string After(const std::string& types, const std::string& equation, int operands = 2) {
  const std::string inputs = operands == 1 ? "a" : "a, b";
  return Nodes(Optimize(absl::StrCat("g (", types, ") => (float[] y) { y = Einsum <equation = \"",
                                     equation, "\"> (", inputs, ") }"),
                        LowerEinsum));
}

TEST(LowerEinsum, ProductsOfMatrices) {
  EXPECT_EQ(After("float[M,4] a, float[4,N] b", "ij,jk->ik"), "y = MatMul(a, b)\n");
  EXPECT_EQ(After("float[B,H,Q,4] a, float[B,H,K,4] b", "bhqd,bhkd->bhqk"),
            "y_Transpose = Transpose(b)\ny = MatMul(a, y_Transpose)\n");
  // The operands change places where that saves a transpose of the result.
  EXPECT_EQ(After("float[4,N] a, float[M,4] b", "jk,ij->ik"), "y = MatMul(b, a)\n");
  EXPECT_EQ(After("float[B,S,4] a, float[4,N] b", "...c,cd->...d"), "y = MatMul(a, b)\n");
}

TEST(LowerEinsum, SeveralAxesOfWeights) {
  EXPECT_EQ(After("float[B,S,4] a, float[4,2,3] b", "abc,cde->abde"),
            "y_Reshape = Reshape(b, y_const)\ny_MatMul = MatMul(a, y_Reshape)\n"
            "y = Reshape(y_MatMul, y_const_1)\n");
  EXPECT_EQ(After("float[B,S,2,3] a, float[2,3,4] b", "abcd,cde->abe"),
            "y_Reshape = Reshape(a, y_const)\ny_Reshape_1 = Reshape(b, y_const_1)\n"
            "y = MatMul(y_Reshape, y_Reshape_1)\n");
}

TEST(LowerEinsum, VectorsAndOuterProducts) {
  EXPECT_EQ(After("float[M] a, float[N] b", "i,j->ij"),
            "y_Unsqueeze = Unsqueeze(a, y_const)\ny_Unsqueeze_1 = Unsqueeze(b, y_const_1)\n"
            "y = Mul(y_Unsqueeze, y_Unsqueeze_1)\n");
  EXPECT_EQ(After("float[4] a, float[4] b", "i,i->"),
            "y_Unsqueeze = Unsqueeze(a, y_const)\ny_Unsqueeze_1 = Unsqueeze(b, y_const_1)\n"
            "y_MatMul = MatMul(y_Unsqueeze, y_Unsqueeze_1)\ny = Squeeze(y_MatMul, y_const_2)\n");
}

TEST(LowerEinsum, OneOperand) {
  EXPECT_EQ(After("float[M,N] a", "ij->ji", 1), "y = Transpose(a)\n");
  EXPECT_EQ(After("float[M,N] a", "ij->ij", 1), "y = Identity(a)\n");
  EXPECT_EQ(After("float[M,N,K] a", "ijk->ki", 1),
            "y_ReduceSum = ReduceSum(a, y_const)\ny = Transpose(y_ReduceSum)\n");
}

TEST(LowerEinsum, LeavesDiagonalsAndWhatMayBroadcast) {
  EXPECT_EQ(After("float[M,M] a", "ii->i", 1), "y = Einsum(a)\n");
  EXPECT_EQ(After("float[M,K] a, float[L,N] b", "ij,jk->ik"), "y = Einsum(a, b)\n");
  EXPECT_EQ(After("float[M,1] a, float[4,N] b", "ij,jk->ik"), "y = Einsum(a, b)\n");
}

// The type of an operand. `dims` of each label: a number, or a symbol.
std::string TypeOf(const std::string& term, const std::map<char, std::string>& dims,
                   std::mt19937& random) {
  std::vector<std::string> text;
  for (const char label : term) text.push_back(random() % 8 == 0 ? "1" : dims.at(label));
  return term.empty() ? "float" : absl::StrCat("float[", absl::StrJoin(text, ","), "]");
}

std::string Term(std::mt19937& random) {
  std::string letters = "abcdef";
  std::shuffle(letters.begin(), letters.end(), random);
  return letters.substr(0, random() % 5);
}

// The values are those of the Einsum, whatever the equation.
TEST(LowerEinsum, RandomEquations) {
  const auto seed = static_cast<unsigned>(::testing::UnitTest::GetInstance()->random_seed());
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937 random(seed);
  int lowered = 0;
  for (int i = 0; i < 300; ++i) {
    const bool two = random() % 6 != 0;
    const std::string left = Term(random), right = two ? Term(random) : "";
    std::string output;
    for (const char label : std::string("abcdef")) {
      const bool known = (left + right).find(label) != std::string::npos;
      if (known && random() % 4 != 0) output += label;
    }
    std::shuffle(output.begin(), output.end(), random);
    std::map<char, std::string> dims;
    for (const char label : std::string("abcdef"))
      dims[label] = random() % 3 == 0 ? std::string(1, static_cast<char>(label - 32))
                                      : absl::StrCat(1 + random() % 4);
    std::string types = TypeOf(left, dims, random) + " a";
    if (two) absl::StrAppend(&types, ", ", TypeOf(right, dims, random), " b");
    const std::string equation = absl::StrCat(left, two ? "," : "", right, "->", output);
    SCOPED_TRACE(absl::StrCat(equation, " of ", types));
    lowered += After(types, equation, two ? 2 : 1).find("Einsum(") == std::string::npos;
    if (HasFailure()) return;
  }
  EXPECT_GT(lowered, 100);
}

}  // namespace
}  // namespace onward
