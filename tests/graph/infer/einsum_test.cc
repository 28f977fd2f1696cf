#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "onward/builder.h"

namespace onward {
namespace {

absl::Status Einsum(const std::string& equation) {
  GraphBuilder b;
  const Expr x = b.Input("x", DType::kFloat32, {3, 4});
  Attributes attributes;
  attributes.Set("equation", equation);
  b.Output("y", b.Op("Einsum", {x}, attributes));
  return b.Build().status();
}

// ONNX's inference function runs for ever on a byte that is negative as a char.
TEST(InferEinsum, NamesTheByte) {
  const std::string equations[] = {
      std::string("i\0\0\0\x80i", 6), "i\xc3\xa9->i", "i;j", "i-j", "ij>i", "\x7f"};
  for (const std::string& equation : equations) {
    const absl::Status status = Einsum(equation);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_NE(status.message().find("it is made of letters"), std::string::npos) << status;
    EXPECT_NE(status.message().find("at byte"), std::string::npos) << status;
  }
}

TEST(InferEinsum, TakesTheStandards) {
  for (const char* equation : {"ij->ji", "i j -> j i", "...j->...", "Ij", "ij -> ", "ij"})
    EXPECT_TRUE(Einsum(equation).ok()) << equation << ": " << Einsum(equation);
}

TEST(InferEinsum, BroadcastsAsNumPy) {
  GraphBuilder b;
  const Expr x = b.Input("x", DType::kFloat32, {"n", 1, 3});
  const Expr y = b.Input("y", DType::kFloat32, {5, 3});
  const auto type = [&](const char* equation, std::vector<Expr> inputs) {
    return b.Op("Einsum", std::move(inputs), {{"equation", std::string(equation)}})
        .type()
        .ToString();
  };
  EXPECT_EQ(type("...i,...i->...", {x, y}), "float32[n,5]");
  EXPECT_EQ(type("nji,ji->nj", {x, y}), "float32[n,5]");
  EXPECT_EQ(type("nji,ki", {x, y}), "float32[1,5,n]");
  EXPECT_TRUE(b.status().ok()) << b.status();
}

}  // namespace
}  // namespace onward
