// Output layers that PyTorch's exporters untied from their embeddings.
#include "training/source/tied_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "graph/ir/verify.h"
#include "onward/session.h"
#include "tests/support/text_model.h"

namespace onward::training {
namespace {

using ::testing::ElementsAre;

// head.weight = embedding.weight, as both exporters write it.
std::string Tied(const std::string& head) {
  return absl::StrCat("g (int64[2] x) => (float[2,3] y) <float[3,2] e = {1,2,3,4,5,6}, ", head,
                      "> { a = Gather <axis = 0> (e, x) y = MatMul(a, w) }");
}

size_t Count(const std::string& text, const std::vector<std::string>& untied = {}) {
  auto model = testing::ModelFromText(text);
  EXPECT_TRUE(model.ok()) << model.status();
  std::vector<std::string> initializers = {"e", "w"};
  const auto made = TieTransposedWeights(model->graph, initializers, untied);
  EXPECT_TRUE(made.ok()) << made.status();
  const std::vector<TiedWeight>& tied = *made;
  EXPECT_TRUE(Verify(model->graph).ok()) << Verify(model->graph);
  EXPECT_EQ(initializers.size() + tied.size(), 2u);
  if (tied.empty()) return 0;
  EXPECT_EQ(tied[0].name, "w");
  EXPECT_EQ(tied[0].embedding, "e");
  EXPECT_THAT(initializers, ElementsAre("e"));
  EXPECT_TRUE(model->graph.users(model->graph.FindValue("w")).empty());
  auto session = Session::Create(*model);
  EXPECT_TRUE(session.ok()) << session.status();
  const auto outputs = (*session)->Run({{"x", Tensor::Of<int64_t>({2}, {0, 2})}});
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  const auto y = outputs->at("y").tensor().span<float>();
  EXPECT_THAT(std::vector<float>(y.begin(), y.end()), ElementsAre(5, 11, 17, 17, 39, 61));
  return tied.size();
}

TEST(TiedWeights, ATransposeIsTheEmbedding) {
  const std::string text = Tied("float[2,3] w = {1,3,5,2,4,6}");
  EXPECT_EQ(Count(text), 1u);
  EXPECT_EQ(Count(text, {"w"}), 0u);
}

TEST(TiedWeights, OthersAreNot) {
  EXPECT_EQ(Count(Tied("float[2,3] w = {1,3,5,2,4,7}")), 0u);
  EXPECT_EQ(Count("g (int64[2] x) => (float[2,3] y) <float[3,2] e = {1,1,1,1,1,1}, float[2,3] w = "
                  "{1,1,1,1,1,1}> { a = Gather <axis = 0> (e, x) y = MatMul(a, w) }"),
            0u)
      << "fresh ones";
  EXPECT_EQ(Count("g (float[2,3] x) => (float[2,3] y) <float[3,2] e = {1,2,3,4,5,6}, float[2,3] w "
                  "= {1,3,5,2,4,6}> { a = MatMul(x, e) y = MatMul(a, w) }"),
            0u)
      << "no embedding";
  EXPECT_EQ(Count("g (int64[2] x) => (float[2,3] y) <float[3,2] e = {1,2,3,4,5,6}, float[2,3] w = "
                  "{1,3,5,2,4,6}> { a = Gather <axis = 0> (e, x) b = MatMul(a, w) "
                  "c = ReduceSum(w) y = Add(b, c) }"),
            0u)
      << "read by another op";
}

}  // namespace
}  // namespace onward::training
