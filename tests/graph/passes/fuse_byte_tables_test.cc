#include <gtest/gtest.h>

#include "graph/passes/passes.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

using testing::Nodes;
using testing::Optimize;

// Without the nodes that nothing reads.
std::string Fused(const std::string& text) {
  return Nodes(Optimize(text, {{"fuse_quantized", FuseQuantized},
                               {"fuse_byte_tables", FuseByteTables},
                               {"eliminate_dead", EliminateDead}}));
}

// Nothing but a table reads x. The nodes before it make that, of constants alone.
void ExpectTable(const std::string& text) {
  const std::string nodes = Fused(text), map = "y = onward.MapBytes(x, ";
  const size_t at = nodes.find(map);
  EXPECT_NE(at, std::string::npos) << nodes;
  EXPECT_EQ(nodes.find("(x"), at + map.size() - 4) << nodes;
  EXPECT_EQ(nodes.find(", x"), std::string::npos) << nodes;
}

constexpr char kHead[] =
    "g (uint8[2,3] x, float scale) => (uint8[2,3] y) <float s = {0.05}, float t = {0.03}, "
    "uint8 z = {120}, uint8 low = {0}, float half = {0.5}, float[3] per = {1, 2, 3}, "
    "int8 signed = {3}> {f = DequantizeLinear(x, s, z) ";

TEST(FuseByteTables, FunctionsBetweenLinears) {
  ExpectTable(std::string(kHead) + "a = Sigmoid(f) y = QuantizeLinear(a, t, z)}");
  // Several, with constants of one element; the result may have another scale alone.
  ExpectTable(std::string(kHead) +
              "a = Mul(half, f) b = Erf(a) c = Clip(b, , half) y = QuantizeLinear(c, t, z)}");
  ExpectTable(std::string(kHead) + "y = QuantizeLinear(f, t, z)}");
}

TEST(FuseByteTables, SignedIntegers) {
  ExpectTable(
      "g (int8[2,3] x) => (uint8[2,3] y) <float s = {0.05}, int8 z = {-7}, "
      "uint8 u = {9}> {f = DequantizeLinear(x, s, z) a = Tanh(f) "
      "y = QuantizeLinear(a, s, u)}");
}

// x * sigmoid(x), each quantized.
TEST(FuseByteTables, ProductsAndSumsOfFunctionsOfOneValue) {
  ExpectTable(std::string(kHead) +
              "a = Sigmoid(f) b = QuantizeLinear(a, t, low) c = DequantizeLinear(b, t, low) "
              "d = Mul(f, c) y = QuantizeLinear(d, t, z)}");
  ExpectTable(std::string(kHead) +
              "a = Sigmoid(f) b = QuantizeLinear(a, t, low) c = DequantizeLinear(b, t, low) "
              "d = Tanh(f) e = QuantizeLinear(d, t, z) h = DequantizeLinear(e, t, z) "
              "i = Add(c, h) y = QuantizeLinear(i, t, z)}");
}

TEST(FuseByteTables, LeavesWhatIsNoFunctionOfAByte) {
  for (const char* rest :
       {"a = Mul(f, per) y = QuantizeLinear(a, t, z)}",     // of its column, too
        "a = Softmax(f) y = QuantizeLinear(a, t, z)}",      // of its row
        "a = Sigmoid(f) y = QuantizeLinear(a, scale, z)}",  // of what is not constant
        "g = Mul(f, scale) a = Tanh(g) y = QuantizeLinear(a, t, z)}"}) {
    SCOPED_TRACE(rest);
    EXPECT_EQ(Fused(std::string(kHead) + rest).find("MapBytes"), std::string::npos);
  }
}

}  // namespace
}  // namespace onward
