#include <gtest/gtest.h>

#include "graph/passes/passes.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

using testing::Nodes;
using testing::Optimize;

const std::vector<Pass> kPasses = {{"trim", TrimConvTaps}, {"fold", FoldConstants}};

const Node& OnlyNode(const Graph& graph) { return graph.node(graph.node_ids()[0]); }

constexpr char kWeights[] = "float[1,1,3,3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}";

std::string Conv(const std::string& x, const std::string& y, const std::string& attributes) {
  return "g (float[N,1," + x + "] x) => (float[N,1," + y + "] y) <" + kWeights + "> { y = Conv <" +
         attributes + "> (x, w) }";
}

TEST(TrimConvTaps, LeavesTheCentreOfAWideDilation) {
  const Graph graph =
      Optimize(Conv("5,5", "5,5", "dilations = [6, 6], pads = [6, 6, 6, 6]"), kPasses);
  EXPECT_EQ(OnlyNode(graph).attributes.Ints("kernel_shape"), (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(OnlyNode(graph).attributes.Ints("pads"), (std::vector<int64_t>{0, 0, 0, 0}));
}

TEST(TrimConvTaps, EachAxisByItself) {
  const Graph graph =
      Optimize(Conv("5,9", "5,9", "dilations = [5, 5], pads = [5, 5, 5, 5]"), kPasses);
  EXPECT_EQ(OnlyNode(graph).attributes.Ints("kernel_shape"), (std::vector<int64_t>{1, 3}));
}

TEST(TrimConvTaps, OneSideAndStrides) {
  const Graph graph = Optimize(
      Conv("3,3", "2,2", "dilations = [4, 4], pads = [0, 0, 8, 8], strides = [2, 2]"), kPasses);
  EXPECT_EQ(OnlyNode(graph).attributes.Ints("kernel_shape"), (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(OnlyNode(graph).attributes.Ints("pads"), (std::vector<int64_t>{0, 0, 0, 0}));
}

TEST(TrimConvTaps, KeepsWhatMeetsTheInputAndWhatItCannotSay) {
  for (const char* text : {"dilations = [4, 4], pads = [4, 4, 4, 4]", "pads = [1, 1, 1, 1]"}) {
    const Graph graph = Optimize(Conv("5,5", "5,5", text), kPasses);
    EXPECT_EQ(OnlyNode(graph).attributes.Ints("kernel_shape", {3, 3}),
              (std::vector<int64_t>{3, 3}));
  }
  // Without the first tap the padding would be negative.
  const Graph graph = Optimize(
      Conv("9,9", "2,2", "dilations = [4, 4], pads = [2, 2, 2, 2], strides = [4, 4]"), kPasses);
  EXPECT_EQ(Nodes(graph), "y = Conv(x, w)\n");
}

}  // namespace
}  // namespace onward
