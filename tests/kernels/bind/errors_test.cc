// What convolutions, pools, products, recurrences and attention return for inputs that do not fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/bind/einsum.h"
#include "kernels/bind/matmul.h"
#include "kernels/cpu/kernels.h"
#include "tests/support/kernel_runner.h"

namespace onward::kernels {
namespace {

using ::testing::HasSubstr;

Tensor Zeros(DimsView dims, DType dtype = DType::kFloat32) {
  Tensor tensor(dtype, dims);
  std::memset(tensor.raw_mutable_data(), 0, static_cast<size_t>(tensor.byte_size()));
  return tensor;
}

struct ErrorRow {
  const char* op;
  Attributes attributes;
  std::vector<Tensor> inputs;
  const char* message;
};

std::vector<ErrorRow> Rows() {
  using Ints = std::vector<int64_t>;
  const Tensor image = Zeros({1, 2, 4, 4});
  const Tensor heads = Zeros({1, 2, 3, 4});
  Tensor lens(DType::kInt32, {2});
  lens.mutable_data<int32_t>()[0] = 1;
  lens.mutable_data<int32_t>()[1] = 4;
  return {
      {"Conv", {}, {image, Zeros({3, 1, 2, 2})}, "do not fit with group 1"},
      {"Conv", {}, {image, Zeros({3, 2, 5, 1})}, "a window of 5 is larger than the padded input"},
      {"Conv", {}, {image, Zeros({3, 2, 2, 2}), Zeros({2})}, "B has shape [2], expected [3]"},
      {"Conv", {{"strides", Ints{0, 1}}}, {image, Zeros({3, 2, 2, 2})}, "strides holds 0"},
      {"Conv", {{"pads", Ints{1, 1}}}, {image, Zeros({3, 2, 2, 2})}, "pads has 2 elements"},
      {"Conv", {{"kernel_shape", Ints{3, 3}}}, {image, Zeros({3, 2, 2, 2})}, "kernel_shape is"},
      {"ConvTranspose", {}, {image, Zeros({3, 2, 2, 2})}, "do not fit with group 1"},
      {"ConvTranspose", {{"pads", Ints{9, 0, 0, 0}}}, {image, Zeros({2, 1, 2, 2})}, "exceeds"},
      {"MaxPool", {}, {image}, "kernel_shape is missing"},
      {"MaxPool", {{"kernel_shape", Ints{2}}}, {image}, "1 spatial axes, the input has 2"},
      {"AveragePool", {{"kernel_shape", Ints{2, 5}}}, {image}, "spatial axis 1"},
      {"GlobalMaxPool", {}, {Zeros({3})}, "rank 2 or more"},
      {"MatMul", {}, {Zeros({2, 3}), Zeros({2, 3})}, "inner dims differ"},
      {"MatMul", {}, {Zeros({2, 2, 3}), Zeros({3, 3, 2})}, "batch dims do not broadcast"},
      {"MatMul", {}, {Zeros({}), Zeros({3})}, "scalar"},
      {"Gemm", {}, {Zeros({2, 3}), Zeros({3, 4}), Zeros({3})}, "C [3] does not broadcast"},
      {"LSTM", {}, {Zeros({1, 2, 3}), Zeros({1, 8, 4}), Zeros({1, 8, 2})}, "W has shape"},
      {"GRU",
       {},
       {Zeros({3, 2, 3}), Zeros({1, 6, 3}), Zeros({1, 6, 2}), Tensor(), lens},
       "sequence_lens[1] is 4, expected 0 to 3"},
      {"RNN",
       {{"activations", std::vector<std::string>{"Sine"}}},
       {Zeros({3, 2, 3}), Zeros({1, 2, 3}), Zeros({1, 2, 2})},
       "unknown activation 'Sine'"},
      {"Attention", {}, {heads, heads, Zeros({1, 2, 2, 4})}, "do not fit"},
      {"Attention", {}, {heads, heads, heads, Zeros({2, 3})}, "attn_mask [2,3] does not broadcast"},
      {"Attention", {}, {Zeros({1, 3, 4}), Zeros({1, 3, 4}), Zeros({1, 3, 4})}, "0 heads"},
      {"RotaryEmbedding", {}, {heads, Zeros({1, 3, 2}), Zeros({1, 3, 1})}, "sin_cache has shape"},
      {"RotaryEmbedding",
       {},
       {heads, Zeros({0, 2}), Zeros({0, 2}), Zeros({1, 3}, DType::kInt64)},
       "position_ids[0] is 0"},
      {"Einsum", {{"equation", std::string("ij,jk->ik")}}, {Zeros({2, 3})}, "2 terms"},
      {"MaxUnpool",
       {{"kernel_shape", Ints{2}}},
       {Zeros({1, 1, 2}), Tensor::Of<int64_t>({1, 1, 2}, {0, 3})},
       "index 3 at 1 is outside the unpooled 3"},
  };
}

TEST(ShapeErrors, EveryKernelNamesWhatDoesNotFit) {
  for (const ErrorRow& row : Rows()) {
    cases::OpCase c;
    c.name = row.message;
    c.op = row.op;
    c.attributes = row.attributes;
    c.inputs = row.inputs;
    c.expected = {Zeros({})};
    for (const KernelEntry& entry : CpuKernels()) {
      if (entry.op != c.op || !entry.domain.empty()) continue;
      SCOPED_TRACE(std::string(entry.name) + ": " + row.message);
      const auto results = testing::RunKernel(entry, c);
      if (absl::IsUnimplemented(results.status())) continue;
      EXPECT_EQ(results.status().code(), absl::StatusCode::kInvalidArgument);
      EXPECT_THAT(std::string(results.status().message()), HasSubstr(row.message));
    }
  }
}

struct EinsumError {
  const char* equation;
  std::vector<Dims> operands;
  const char* message;
};

TEST(ParseEinsum, NamesWhatIsWrong) {
  const EinsumError rows[] = {
      {"i.j->i", {{2, 3}}, "misplaced '.'"},
      {"i1->i", {{2, 3}}, "is not a letter"},
      {"ij->ik", {{2, 3}}, "'k' is in no operand"},
      {"ij->ii", {{2, 3}}, "'i' stands more than once"},
      {"ij,jk->ik", {{2, 3}, {4, 5}}, "'j' is 3 and 4"},
      {"ijk->i", {{2, 3}}, "term 0 names 3 axes"},
      {"...i->i", {{2, 3}}, "ellipsis"},
  };
  for (const EinsumError& row : rows) {
    const std::vector<DimsView> operands(row.operands.begin(), row.operands.end());
    const auto terms = ParseEinsum(row.equation, operands);
    ASSERT_FALSE(terms.ok()) << row.equation;
    EXPECT_THAT(std::string(terms.status().message()), HasSubstr(row.message));
  }
}

TEST(MatMulDims, JoinsBatchAxesAndFoldsThoseOfASharedOperand) {
  const auto folded = MatMulDims({2, 3, 4, 5}, {5, 6});
  ASSERT_TRUE(folded.ok());
  EXPECT_EQ(folded->m, 24);
  EXPECT_TRUE(folded->batch.empty());
  EXPECT_EQ(DimsView(folded->output), DimsView({2, 3, 4, 6}));
  const auto joined = MatMulDims({2, 3, 4, 5}, {2, 3, 5, 6});
  ASSERT_TRUE(joined.ok());
  EXPECT_EQ(DimsView(joined->batch), DimsView({6}));
  const auto crossed = MatMulDims({2, 1, 4, 5}, {3, 5, 6});
  ASSERT_TRUE(crossed.ok());
  EXPECT_EQ(DimsView(crossed->output), DimsView({2, 3, 4, 6}));
  EXPECT_EQ(crossed->num_batches(), 6);
}

}  // namespace
}  // namespace onward::kernels
