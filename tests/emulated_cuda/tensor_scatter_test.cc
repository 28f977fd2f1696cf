// TensorScatter on the device.
#include "tests/emulated_cuda/compared_operator.h"

namespace onward::emulated_cuda {
namespace {

struct ScatterCase {
  Dims cache, update;
  int64_t axis;
  const char* mode;
  std::vector<int64_t> starts;  // empty: the input is omitted
};

std::string GraphOf(const ScatterCase& one, DType dtype) {
  return absl::StrCat("(", TextOf({dtype, one.cache}), " y) { y = TensorScatter <axis = ", one.axis,
                      ", mode = \"", one.mode, "\"> (a, b", one.starts.empty() ? "" : ", c", ") }");
}

std::vector<Tensor> InputsOf(const ScatterCase& one, DType dtype) {
  std::vector<Tensor> inputs = {Filled({dtype, one.cache}, 1, true),
                                Filled({dtype, one.update}, 2, true)};
  if (!one.starts.empty())
    inputs.push_back(Tensor::Of<int64_t>({static_cast<int64_t>(one.starts.size())},
                                         absl::Span<const int64_t>(one.starts)));
  return inputs;
}

TEST(EmulatedTensorScatter, IsTheCpus) {
  const ScatterCase cases[] = {
      {{2, 3, 16, 8}, {2, 3, 1, 8}, 2, "linear", {5, 15}},
      {{2, 3, 16, 8}, {2, 3, 4, 8}, -2, "linear", {0, 12}},
      {{3, 9, 5}, {3, 4, 5}, 1, "circular", {7, 0, 8}},
      {{1, 2, 7, 3}, {1, 2, 7, 3}, 2, "linear", {}},
      {{2, 40, 1}, {2, 0, 1}, 1, "linear", {3, 9}},
      {{4, 700}, {4, 300}, -1, "circular", {699, 1, 500, 399}},
  };
  for (const DType dtype :
       {DType::kFloat32, DType::kFloat16, DType::kFloat64, DType::kInt64, DType::kUint8}) {
    for (const ScatterCase& one : cases) ExpectAsCpu(GraphOf(one, dtype), InputsOf(one, dtype), 0);
  }
}

TEST(EmulatedTensorScatter, AStartOutOfRangeIsAnError) {
  for (const int64_t start : {-1, 14}) {
    const ScatterCase one = {{2, 3, 16, 8}, {2, 3, 4, 8}, 2, "linear", {5, start}};
    const auto inputs = InputsOf(one, DType::kFloat32);
    const std::string graph = GraphOf(one, DType::kFloat32);
    EXPECT_EQ(RunOn("cpu", graph, inputs).status().code(), absl::StatusCode::kInvalidArgument);
    const absl::Status status = RunOn("cuda", graph, inputs).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    const std::string expected = absl::StrCat("index ", start, " at position 1 is out of range");
    EXPECT_NE(status.message().find(expected), std::string::npos) << status;
  }
}

}  // namespace
}  // namespace onward::emulated_cuda
