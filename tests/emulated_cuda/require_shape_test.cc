// RequireShape on the device, which needs no element to know the shape.
#include "tests/emulated_cuda/compared_operator.h"

namespace onward::emulated_cuda {
namespace {

TEST(EmulatedRequireShape, IsTheCpus) {
  const Tensor x = Filled({DType::kInt64, {2, 3}}, 1, false);
  for (const char* expected : {"2, 3", "3, 2"}) {
    const std::string graph = absl::StrCat("(int64[2, 3] y) { shape = Constant <value_ints = [",
                                           expected, "]> () y = onward.RequireShape ",
                                           "<message = \"another shape\"> (a, shape) }");
    const auto on_cpu = RunOn("cpu", graph, {x}), on_cuda = RunOn("cuda", graph, {x});
    EXPECT_EQ(on_cpu.status().code(), on_cuda.status().code()) << on_cuda.status();
    EXPECT_EQ(on_cpu.ok(), std::string(expected) == "2, 3") << on_cpu.status();
    if (on_cpu.ok()) {
      ExpectAsCpu(graph, {x}, 0);
    } else {
      EXPECT_NE(on_cuda.status().message().find("another shape"), std::string_view::npos);
    }
  }
}

}  // namespace
}  // namespace onward::emulated_cuda
