// What kernels that move data say about inputs that do not fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/cpu/kernels.h"
#include "tests/support/kernel_runner.h"

namespace onward::kernels {
namespace {

using ::testing::HasSubstr;

absl::Status Run(const cases::OpCase& op_case) {
  for (const KernelEntry& entry : CpuKernels()) {
    if (entry.op == op_case.op) return testing::RunKernel(entry, op_case).status();
  }
  return absl::NotFoundError(op_case.op);
}

struct Wrong {
  cases::OpCase op_case;
  std::string message;  // a part of it
};

// A tensor of zeros.
Tensor Zeros(DimsView dims) {
  Tensor tensor(DType::kFloat32, dims);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) tensor.mutable_data<float>()[i] = 0;
  return tensor;
}

Tensor Ints(std::vector<int64_t> values) {
  return Tensor::Of<int64_t>({static_cast<int64_t>(values.size())}, absl::MakeConstSpan(values));
}

cases::OpCase Case(std::string op, Attributes attributes, std::vector<Tensor> inputs) {
  return {op, op, "", std::move(attributes), std::move(inputs), {Zeros({1})}};
}

void ExpectMessages(const std::vector<Wrong>& wrongs) {
  for (const Wrong& wrong : wrongs) {
    SCOPED_TRACE(wrong.op_case.op);
    const absl::Status status = Run(wrong.op_case);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(wrong.message));
  }
}

TEST(LayoutErrors, NameTheIndexThatIsOutOfRange) {
  const Tensor data = Zeros({2, 3});
  ExpectMessages({
      {Case("Gather", {}, {data, Ints({0, 2})}), "index 2 at position 1 is out of range"},
      {Case("Gather", {}, {data, Ints({-3})}), "index -3 at position 0 is out of range"},
      {Case("GatherElements", {{"axis", int64_t{1}}}, {data, Tensor::Of<int64_t>({1, 2}, {0, 3})}),
       "index 3 at position 1 is out of range for an axis of size 3"},
      {Case("GatherND", {}, {data, Tensor::Of<int64_t>({1, 2}, {1, -4})}),
       "index -4 at position 1 is out of range for an axis of size 3"},
      {Case("ScatterElements", {}, {data, Tensor::Of<int64_t>({1, 1}, {2}), Zeros({1, 1})}),
       "index 2 at position 0 is out of range"},
      {Case("ScatterND", {}, {data, Tensor::Of<int64_t>({1, 1}, {-3}), Zeros({1, 3})}),
       "index -3 at position 0 is out of range"},
      {Case("TensorScatter", {}, {Zeros({1, 2, 1}), Zeros({1, 1, 1}), Ints({2})}),
       "write_indices[0] is 2"},
      {Case("Compress", {{"axis", int64_t{0}}},
            {data, Tensor::Of<bool>({3}, {false, false, true})}),
       "position 2 of an axis of size 2"},
  });
}

TEST(LayoutErrors, NameTheAxisThatIsOutOfRange) {
  const Tensor data = Zeros({2, 3});
  ExpectMessages({
      {Case("Flatten", {{"axis", int64_t{3}}}, {data}), "axis 3 is out of range for rank 2"},
      {Case("Squeeze", {}, {data, Ints({0})}), "axis 0 of shape [2,3] is not of size 1"},
      {Case("Unsqueeze", {}, {data, Ints({0, 0})}), "0 is given twice"},
      {Case("Concat", {{"axis", int64_t{2}}}, {data, data}), "axis 2"},
      {Case("Concat", {{"axis", int64_t{0}}}, {data, Zeros({2, 2})}),
       "input 1 of shape [2,2] does not fit input 0 of shape [2,3]"},
      {Case("Transpose", {{"perm", std::vector<int64_t>{0, 2, 1}}}, {data}), "does not fit rank 2"},
      {Case("Transpose", {{"perm", std::vector<int64_t>{0, 0}}}, {data}), "not a permutation"},
      {Case("Slice", {}, {data, Ints({0}), Ints({1}), Ints({2})}), "axis 2"},
      {Case("TopK", {}, {data, Ints({4})}), "K is 4, axis 1 has size 3"},
  });
}

TEST(LayoutErrors, NameTheSizeThatDoesNotFit) {
  const Tensor data = Zeros({2, 3});
  const int64_t huge = int64_t{1} << 62;
  ExpectMessages({
      {Case("Reshape", {}, {data, Ints({4})}), "cannot reshape [2,3] to [4]"},
      {Case("Reshape", {}, {data, Ints({-1, -1})}), "more than one -1"},
      {Case("Reshape", {}, {data, Ints({huge, huge})}), "too many elements"},
      {Case("Expand", {}, {data, Ints({2, 2})}), "[2,3]"},
      {Case("Expand", {}, {data, Ints({huge, 1, 1})}), "more than 2^63 elements"},
      {Case("ConstantOfShape", {}, {Ints({-1})}), "-1"},
      {Case("Tile", {}, {data, Ints({1})}), "repeats has 1 elements, the input has rank 2"},
      {Case("Split", {{"axis", int64_t{1}}}, {data, Ints({2})}),
       "does not sum to the axis's size 3"},
      {Case("Slice", {}, {data, Ints({0}), Ints({1}), Ints({0}), Ints({0})}), "step"},
      {Case("Pad", {}, {data, Ints({0, -4, 0, 0})}), "do not fit its size 3"},
      {Case("Pad", {{"mode", std::string("reflect")}}, {Zeros({0, 1}), Ints({1, 0, 0, 0})}),
       "nothing to repeat"},
      {Case("Resize", {}, {data, Tensor(), Tensor::Of<float>({2}, {0, 1})}), "scales[0] is 0"},
      {Case("Resize", {}, {Zeros({0, 3}), Tensor(), Tensor::Of<float>({2}, {INFINITY, 1})}),
       "scales[0] is inf"},
      {Case("Resize", {{"keep_aspect_ratio_policy", std::string("not_smaller")}},
            {Zeros({1, 4}), Tensor(), Tensor(), Ints({int64_t{1} << 52, 1})}),
       "sizes scale axis 1 of size 4 by 4.5036e+15"},
      {Case("Range", {},
            {Tensor::Scalar<int64_t>(0), Tensor::Scalar<int64_t>(1), Tensor::Scalar<int64_t>(0)}),
       "delta is 0"},
      {Case("DepthToSpace", {{"blocksize", int64_t{2}}}, {Zeros({1, 3, 1, 1})}),
       "cannot be cut by blocksize 2"},
      {Case("OneHot", {}, {Ints({0}), Tensor::Scalar<int64_t>(-1), Ints({0, 1})}), "depth is -1"},
      {Case("RoiAlign", {}, {Zeros({1, 1, 2, 2}), Zeros({1, 4}), Ints({1})}),
       "batch_indices[0] is 1"},
  });
}

}  // namespace
}  // namespace onward::kernels
