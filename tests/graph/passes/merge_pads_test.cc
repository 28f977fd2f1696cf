#include <gtest/gtest.h>

#include "graph/passes/passes.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

using testing::Nodes;
using testing::Optimize;

std::string After(const std::string& text) { return Nodes(Optimize(text, MergePads)); }

constexpr char kThree[] =
    "g (float[2,2] a, float[2,1] b, float[2,3] c) => (float[2,6] y)"
    " <int64[2] first = {0, 4}, int64[2] second = {2, 3}, int64[2] third = {3, 0},"
    " int64[1] axis = {-1}, int64[4] fourth = {0, 3, 0, 0}, float zero = {0}, float one = {1}> {";

TEST(MergePads, PartsInAnyOrder) {
  EXPECT_EQ(After(std::string(kThree) +
                  "p = Pad(a, first, , axis) q = Pad(b, second, zero, axis) r = Pad(c, fourth)"
                  "s = Add(p, r) y = Add(s, q) }"),
            "y = Concat(a, b, c)\n");
  EXPECT_EQ(After(std::string(kThree) +
                  "p = Pad(a, first, , axis) q = Pad(b, second, , axis) r = Pad(c, third, , axis)"
                  "s = Add(q, r) y = Add(p, s) }"),
            "y = Concat(a, b, c)\n");
}

TEST(MergePads, LeavesWhatIsNoConcat) {
  const std::string pads = "p = Pad(a, first, , axis) r = Pad(c, third, , axis) ";
  const auto stays = [&](const std::string& nodes) {
    const std::string after = After(std::string(kThree) + nodes + "}");
    EXPECT_EQ(after.find("Concat"), std::string::npos) << after;
  };
  stays(pads + "y = Add(p, r)");                                              // a gap
  stays(pads + "q = Pad(a, first, , axis) s = Add(p, r) y = Add(s, q)");      // twice
  stays(pads + "q = Pad(b, second, one, axis) s = Add(p, r) y = Add(s, q)");  // ones around it
  stays(pads + "q = Pad(b, second, , axis) s = Add(p, r) t = Add(s, q) y = Add(t, s)");
  stays(
      "p = Pad <mode = \"edge\"> (a, first, , axis) q = Pad(b, second, , axis)"
      "r = Pad(c, third, , axis) s = Add(p, r) y = Add(s, q)");
}

}  // namespace
}  // namespace onward
