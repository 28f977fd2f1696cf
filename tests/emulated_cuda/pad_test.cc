// Pad on the device: all modes, pads that cut, axes of some.
#include "tests/emulated_cuda/compared_operator.h"

namespace onward::emulated_cuda {
namespace {

struct PadCase {
  Dims data;
  std::string pads, axes;  // axes "": all
  Dims y;
};

TEST(EmulatedPad, IsTheCpus) {
  const PadCase cases[] = {{{2, 3, 5, 4}, "0, 0, 1, 2, 0, 0, 3, 0", "", {2, 3, 9, 6}},
                           {{6, 7}, "-1, 2, 3, -4", "", {8, 5}},
                           {{3, 50}, "70, 30", "-1", {3, 150}},
                           {{4}, "3, 3", "", {10}}};
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kInt64, DType::kBool}) {
    for (const PadCase& one : cases) {
      for (const char* mode : {"constant", "reflect", "edge", "wrap"}) {
        const std::string axes =
            one.axes.empty() ? ""
                             : absl::StrCat("k = Constant <value_ints = [", one.axes, "]> () ");
        ExpectAsCpu(absl::StrCat("(", TextOf({dtype, one.y}), " y) { p = Constant <value_ints = [",
                                 one.pads, "]> () ", axes, "y = Pad <mode = \"", mode,
                                 "\"> (a, p, ", one.axes.empty() ? "" : ", k", ") }"),
                    {Filled({dtype, one.data}, 1, true)}, 0);
      }
    }
  }
}

TEST(EmulatedPad, WritesTheConstant) {
  ExpectAsCpu(
      "(float[4, 5] y) { p = Constant <value_ints = [1, 2, 1, 0]> () "
      "v = Constant <value_float = -7.5> () y = Pad (a, p, v) }",
      {Filled({DType::kFloat32, {2, 3}}, 1, false)}, 0);
}

}  // namespace
}  // namespace onward::emulated_cuda
