#include <gtest/gtest.h>

#include "graph/passes/passes.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

using testing::Nodes;
using testing::Optimize;

std::string Last(const std::string& text) { return Nodes(Optimize(text, PutChannelsLast)); }

// Convolutions of 1 x 1 with two channels.
constexpr char kHead[] =
    "g (uint8[1,2,3,3] x) => (uint8[1,2,3,3] y) <float s = {0.5}, uint8 z = {7}, "
    "int8[2,2,1,1] w = {1, 2, 3, 4}, int8 n = {0}> {";

TEST(PutChannelsLast, BetweenConvolutions) {
  EXPECT_EQ(Last(std::string(kHead) + "a = QLinearConv(x, s, z, w, s, n, s, z) "
                                      "y = QLinearConv(a, s, z, w, s, n, s, z)}"),
            "a_ChannelsLastConv = onward.ChannelsLastConv(x, s, z, w, s, n, s, z)\n"
            "y = onward.ChannelsLastConv(a_ChannelsLastConv, s, z, w, s, n, s, z)\n");
}

// The result that another op reads is transposed for it.
TEST(PutChannelsLast, ThroughSumsAndToOtherReaders) {
  EXPECT_EQ(
      Last(std::string(kHead) + "a = QLinearConv(x, s, z, w, s, n, s, z) "
                                "b = QLinearConv(a, s, z, w, s, n, s, z) "
                                "c = com.microsoft.QLinearAdd(a, s, z, b, s, z, s, z) "
                                "y = Identity(c)}"),
      "a_ChannelsLastConv = onward.ChannelsLastConv(x, s, z, w, s, n, s, z)\n"
      "b_ChannelsLastConv = onward.ChannelsLastConv(a_ChannelsLastConv, s, z, w, s, n, s, z)\n"
      "c_QLinearAdd = com.microsoft.QLinearAdd(a_ChannelsLastConv, s, z, b_ChannelsLastConv, "
      "s, z, s, z)\n"
      "c = Transpose(c_QLinearAdd)\n"
      "y = Identity(c)\n");
}

TEST(PutChannelsLast, ConvolutionsOfOnnxRuntime) {
  EXPECT_EQ(Last("g (uint8[1,3,3,2] x) => (uint8[1,3,3,2] y) <float s = {0.5}, uint8 z = {7}, "
                 "int8[2,2,1,1] w = {1, 2, 3, 4}, int8 n = {0}> {"
                 "a = com.microsoft.QLinearConv <channels_last = 1> (x, s, z, w, s, n, s, z) "
                 "y = com.microsoft.QLinearConv <channels_last = 1> (a, s, z, w, s, n, s, z)}"),
            "a = onward.ChannelsLastConv(x, s, z, w, s, n, s, z)\n"
            "y = onward.ChannelsLastConv(a, s, z, w, s, n, s, z)\n");
}

TEST(PutChannelsLast, ThroughMaximaAndConcatenations) {
  EXPECT_EQ(Last("g (uint8[1,2,3,3] x) => (uint8[1,4,2,2] y) <float s = {0.5}, uint8 z = {7}, "
                 "int8[2,2,1,1] w = {1, 2, 3, 4}, int8 n = {0}> {"
                 "a = QLinearConv(x, s, z, w, s, n, s, z) b = QLinearConv(x, s, z, w, s, n, s, z) "
                 "c = Concat <axis = 1> (a, b) d = MaxPool <kernel_shape = [2, 2]> (c) "
                 "y = Identity(d)}"),
            "a_ChannelsLastConv = onward.ChannelsLastConv(x, s, z, w, s, n, s, z)\n"
            "b_ChannelsLastConv = onward.ChannelsLastConv(x, s, z, w, s, n, s, z)\n"
            "c_Concat = Concat(a_ChannelsLastConv, b_ChannelsLastConv)\n"
            "d_ChannelsLastMaxPool = onward.ChannelsLastMaxPool(c_Concat)\n"
            "d = Transpose(d_ChannelsLastMaxPool)\n"
            "y = Identity(d)\n");
}

// A factor for each channel is transposed itself, as it is small.
TEST(PutChannelsLast, ThroughTablesAndFactorsOfChannels) {
  EXPECT_EQ(Last("g (uint8[1,2,3,3] x, uint8[1,2,1,1] f, uint8[256] t) => (uint8[1,2,3,3] y) "
                 "<float s = {0.5}, uint8 z = {7}, int8[2,2,1,1] w = {1, 2, 3, 4}, int8 n = {0}> {"
                 "a = QLinearConv(x, s, z, w, s, n, s, z) b = onward.MapBytes(a, t) "
                 "c = com.microsoft.QLinearMul(b, s, z, f, s, z, s, z) "
                 "y = QLinearConv(c, s, z, w, s, n, s, z)}"),
            "a_ChannelsLastConv = onward.ChannelsLastConv(x, s, z, w, s, n, s, z)\n"
            "b_MapBytes = onward.MapBytes(a_ChannelsLastConv, t)\n"
            "c_Transpose = Transpose(f)\n"
            "c_QLinearMul = com.microsoft.QLinearMul(b_MapBytes, s, z, c_Transpose, s, z, s, z)\n"
            "y = onward.ChannelsLastConv(c_QLinearMul, s, z, w, s, n, s, z)\n");
}

TEST(PutChannelsLast, LeavesWhatIsAlone) {
  const std::string alone =
      std::string(kHead) + "a = QLinearConv(x, s, z, w, s, n, s, z) y = Identity(a)}";
  EXPECT_NE(Last(alone).find(" = QLinearConv("), std::string::npos);
  // Kernels want constant filters.
  const std::string open =
      "g (uint8[1,2,3,3] x, int8[2,2,1,1] w) => (uint8[1,2,3,3] y) <float s = {0.5}, "
      "uint8 z = {7}, int8 n = {0}> {a = QLinearConv(x, s, z, w, s, n, s, z) "
      "y = QLinearConv(a, s, z, w, s, n, s, z)}";
  EXPECT_EQ(Last(open).find("ChannelsLast"), std::string::npos);
}

}  // namespace
}  // namespace onward
