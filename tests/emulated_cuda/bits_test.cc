// BitShift and BitCast on the device.
#include "tests/emulated_cuda/compared_operator.h"

namespace onward::emulated_cuda {
namespace {

// Amounts beyond the width are among those that are drawn.
TEST(EmulatedBits, BitShiftIsTheCpus) {
  const struct {
    Dims a, b, y;
  } shapes[] = {{{0, 3}, {3}, {0, 3}},
                {{}, {}, {}},
                {{2, 1040}, {2, 1040}, {2, 1040}},
                {{5, 1, 7}, {3, 1}, {5, 3, 7}}};
  for (const DType dtype : {DType::kUint8, DType::kUint16, DType::kUint32, DType::kUint64}) {
    for (const auto& shape : shapes) {
      for (const char* direction : {"LEFT", "RIGHT"}) {
        ExpectAsCpu(absl::StrCat("(", TextOf({dtype, shape.y}),
                                 " y) { y = BitShift <direction = \"", direction, "\"> (a, b) }"),
                    {Filled({dtype, shape.a}, 1, false), Filled({dtype, shape.b}, 2, false)}, 0);
      }
    }
  }
}

TEST(EmulatedBits, BitCastIsTheCpus) {
  const struct {
    DType from, to;
  } pairs[] = {{DType::kFloat32, DType::kInt32},    {DType::kUint32, DType::kFloat32},
               {DType::kFloat64, DType::kUint64},   {DType::kInt16, DType::kFloat16},
               {DType::kFloat16, DType::kBFloat16}, {DType::kUint8, DType::kInt8}};
  for (const auto& pair : pairs) {
    for (const Dims& dims : {Dims{}, Dims{0, 2}, Dims{3, 37}}) {
      const std::string y = absl::StrCat("(", TextOf({pair.to, dims}), " y) { ");
      const std::string cast = absl::StrCat("BitCast <to = ", static_cast<int>(pair.to), ">");
      ExpectAsCpu(absl::StrCat(y, "y = ", cast, " (a) }"), {Filled({pair.from, dims}, 1, true)}, 0);
    }
  }
  // A value of the device takes another type and is read again.
  ExpectAsCpu("(int32[2, 5] y, float[2, 5] z) { n = Neg (a) y = BitCast <to = 6> (n) z = Abs (n) }",
              {Filled({DType::kFloat32, {2, 5}}, 1, true)}, 0);
}

}  // namespace
}  // namespace onward::emulated_cuda
