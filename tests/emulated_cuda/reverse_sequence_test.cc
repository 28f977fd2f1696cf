// ReverseSequence on the device.
#include <random>

#include "tests/emulated_cuda/compared_operator.h"

namespace onward::emulated_cuda {
namespace {

constexpr DType kTypes[] = {DType::kFloat32, DType::kFloat16, DType::kFloat64,
                            DType::kInt64,   DType::kUint8,   DType::kBool};

std::string GraphOf(const Operand& x, int64_t batch_axis, int64_t time_axis) {
  return absl::StrCat("(", TextOf(x), " y) { y = ReverseSequence <batch_axis = ", batch_axis,
                      ", time_axis = ", time_axis, "> (a, b) }");
}

TEST(EmulatedReverseSequence, OfDrawnDimsIsTheCpus) {
  for (uint32_t seed = 1; seed <= 80; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto from = [&](int64_t least, int64_t most) {
      return std::uniform_int_distribution<int64_t>(least, most)(random);
    };
    Operand x = {kTypes[from(0, 5)], {}};
    const int64_t rank = from(2, 5), batch_axis = from(0, 1), time_axis = 1 - batch_axis;
    for (int64_t i = 0; i < rank; ++i) x.dims.push_back(from(0, 12) == 0 ? 0 : from(1, 9));
    const int64_t batch = x.dims[static_cast<size_t>(batch_axis)];
    const int64_t steps = x.dims[static_cast<size_t>(time_axis)];
    Tensor lengths(DType::kInt64, {batch});
    for (int64_t b = 0; b < batch; ++b) lengths.mutable_data<int64_t>()[b] = from(0, steps);
    ExpectAsCpu(GraphOf(x, batch_axis, time_axis), {Filled(x, seed, true), lengths}, 0);
  }
}

TEST(EmulatedReverseSequence, ALengthOutOfRangeIsAnError) {
  const Operand x = {DType::kFloat32, {3, 4, 2}};
  for (const int64_t length : {-1, 5}) {
    const std::vector<Tensor> inputs = {Filled(x, 1, false),
                                        Tensor::Of<int64_t>({3}, {4, 0, length})};
    EXPECT_EQ(RunOn("cpu", GraphOf(x, 0, 1), inputs).status().code(),
              absl::StatusCode::kInvalidArgument);
    const absl::Status status = RunOn("cuda", GraphOf(x, 0, 1), inputs).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    const std::string expected =
        absl::StrCat("index ", length, " at position 2 is out of range for an axis of size 4");
    EXPECT_NE(status.message().find(expected), std::string::npos) << status;
  }
}

}  // namespace
}  // namespace onward::emulated_cuda
