// ScatterElements and ScatterND on the device, with indices that repeat.
#include "tests/emulated_cuda/compared_operator.h"

namespace onward::emulated_cuda {
namespace {

Tensor Indices(DType dtype, const Dims& dims, int64_t low, int64_t high) {
  Tensor indices(dtype, dims);
  uint32_t state = 7;
  for (int64_t i = 0; i < indices.num_elements(); ++i) {
    state = state * 1664525u + 1013904223u;
    const int64_t value = low + static_cast<int64_t>(state >> 8) % (high - low);
    if (dtype == DType::kInt32) {
      indices.mutable_data<int32_t>()[i] = static_cast<int32_t>(value);
    } else {
      indices.mutable_data<int64_t>()[i] = value;
    }
  }
  return indices;
}

struct ScatterCase {
  Dims data, indices, updates;
  int64_t axis;
};

constexpr const char* kReductions[] = {"none", "add", "mul", "max", "min"};

TEST(EmulatedScatterElements, IsTheCpus) {
  const ScatterCase cases[] = {{{5, 7}, {3, 7}, {3, 7}, 0},
                               {{5, 7}, {5, 20}, {5, 20}, 1},
                               {{3, 5, 7}, {2, 90, 6}, {2, 90, 6}, -2},
                               {{4, 3}, {0, 3}, {0, 3}, 0}};
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kFloat64, DType::kInt64}) {
    for (const char* reduction : kReductions) {
      for (const ScatterCase& one : cases) {
        const auto rank = static_cast<int64_t>(one.data.size());
        const int64_t dim =
            one.data[static_cast<size_t>(one.axis < 0 ? one.axis + rank : one.axis)];
        ExpectAsCpu(absl::StrCat("(", TextOf({dtype, one.data}),
                                 " y) { y = ScatterElements <axis = ", one.axis, ", reduction = \"",
                                 reduction, "\"> (a, b, c) }"),
                    {Filled({dtype, one.data}, 1, true),
                     Indices(dtype == DType::kInt64 ? DType::kInt32 : DType::kInt64, one.indices,
                             -dim, dim),
                     Filled({dtype, one.updates}, 2, false)},
                    0);
      }
    }
  }
}

TEST(EmulatedScatterND, IsTheCpus) {
  const ScatterCase cases[] = {{{5, 7}, {3, 2}, {3}, 0},
                               {{50, 33}, {200, 1}, {200, 33}, 0},
                               {{3, 5, 7}, {4, 60, 2}, {4, 60, 7}, 0},
                               {{3, 5}, {900, 2}, {900}, 0},
                               {{300, 2, 70}, {400, 1}, {400, 2, 70}, 0},
                               {{4, 3}, {0, 1}, {0, 3}, 0}};
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kInt32}) {
    for (const char* reduction : kReductions) {
      for (const ScatterCase& one : cases) {
        ExpectAsCpu(
            absl::StrCat("(", TextOf({dtype, one.data}), " y) { y = ScatterND <reduction = \"",
                         reduction, "\"> (a, b, c) }"),
            {Filled({dtype, one.data}, 1, true), Indices(DType::kInt64, one.indices, -3, 3),
             Filled({dtype, one.updates}, 2, false)},
            0);
      }
    }
  }
}

TEST(EmulatedScatter, AnIndexOutOfRangeIsTheCpusError) {
  Tensor indices = Indices(DType::kInt64, {3, 1}, 0, 4);
  indices.mutable_data<int64_t>()[2] = -5;
  const std::vector<Tensor> inputs = {Filled({DType::kFloat32, {4, 1}}, 1, false), indices,
                                      Filled({DType::kFloat32, {3, 1}}, 1, false)};
  for (const char* op : {"ScatterElements", "ScatterND"}) {
    for (const char* provider : {"cpu", "cuda"}) {
      const absl::Status status =
          RunOn(provider, absl::StrCat("(float[4, 1] y) { y = ", op, " (a, b, c) }"), inputs)
              .status();
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_NE(std::string(status.message())
                    .find("index -5 at position 2 is out of range for an axis of size 4"),
                std::string::npos)
          << status;
    }
  }
}

}  // namespace
}  // namespace onward::emulated_cuda
