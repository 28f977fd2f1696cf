// RotaryEmbedding on the device.
#include <random>

#include "tests/emulated_cuda/compared_operator.h"

namespace onward::emulated_cuda {
namespace {

constexpr DType kTypes[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16};

struct Rotation {
  int64_t batch, heads, steps, head_size, rotary_dim;  // rotary_dim 0: the whole head
  bool packed, interleaved;
  int64_t positions;  // 0: without position_ids
};

Operand OperandOf(const Rotation& r, DType dtype) {
  if (r.packed) return {dtype, {r.batch, r.steps, r.heads * r.head_size}};
  return {dtype, {r.batch, r.heads, r.steps, r.head_size}};
}

std::string GraphOf(const Rotation& r, DType dtype) {
  return absl::StrCat("(", TextOf(OperandOf(r, dtype)),
                      " y) { y = RotaryEmbedding <interleaved = ", r.interleaved ? 1 : 0,
                      ", rotary_embedding_dim = ", r.rotary_dim,
                      r.packed ? absl::StrCat(", num_heads = ", r.heads) : "", "> (a, b, c",
                      r.positions > 0 ? ", d" : "", ") }");
}

std::vector<Tensor> InputsOf(const Rotation& r, DType dtype, uint32_t seed) {
  const int64_t half = (r.rotary_dim == 0 ? r.head_size : r.rotary_dim) / 2;
  const Operand cache = {dtype,
                         r.positions > 0 ? Dims{r.positions, half} : Dims{r.batch, r.steps, half}};
  std::vector<Tensor> inputs = {Filled(OperandOf(r, dtype), seed, false),
                                Filled(cache, seed + 1, false), Filled(cache, seed + 2, false)};
  if (r.positions == 0) return inputs;
  Tensor ids(DType::kInt64, {r.batch, r.steps});
  for (int64_t i = 0; i < ids.num_elements(); ++i)
    ids.mutable_data<int64_t>()[i] = (i * 7 + seed) % r.positions;
  inputs.push_back(ids);
  return inputs;
}

TEST(EmulatedRotaryEmbedding, IsTheCpus) {
  const Rotation rotations[] = {
      {1, 1, 1, 2, 0, false, false, 0},   {2, 3, 5, 8, 0, false, false, 9},
      {2, 3, 5, 8, 0, true, true, 9},     {2, 3, 5, 8, 4, true, false, 0},
      {2, 1, 5, 6, 2, true, false, 3},    {3, 4, 1, 64, 32, false, true, 100},
      {0, 2, 3, 4, 0, false, false, 0},   {2, 2, 0, 4, 0, true, false, 5},
      {1, 8, 33, 80, 0, true, false, 33},
  };
  for (const DType dtype : kTypes) {
    for (const Rotation& r : rotations)
      ExpectAsCpu(GraphOf(r, dtype), InputsOf(r, dtype, 1), 4 * ToleranceOf(dtype));
  }
}

TEST(EmulatedRotaryEmbedding, OfDrawnDimsIsTheCpus) {
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto from = [&](int64_t least, int64_t most) {
      return std::uniform_int_distribution<int64_t>(least, most)(random);
    };
    Rotation r = {from(1, 3), from(1, 4), from(1, 9), 2 * from(1, 12), 0, false, false, 0};
    r.rotary_dim = from(0, 1) == 0 ? 0 : 2 * from(1, r.head_size / 2);
    r.packed = from(0, 1) == 0;
    r.interleaved = from(0, 1) == 0;
    r.positions = from(0, 1) == 0 ? 0 : from(1, 20);
    const DType dtype = kTypes[seed % 3];
    ExpectAsCpu(GraphOf(r, dtype), InputsOf(r, dtype, seed), 4 * ToleranceOf(dtype));
  }
}

TEST(EmulatedRotaryEmbedding, APositionOutOfRangeIsAnError) {
  const Rotation r = {1, 2, 3, 4, 0, false, false, 6};
  for (const int64_t position : {-1, 6}) {
    std::vector<Tensor> inputs = InputsOf(r, DType::kFloat32, 1);
    inputs[3].mutable_data<int64_t>()[2] = position;
    const std::string graph = GraphOf(r, DType::kFloat32);
    EXPECT_EQ(RunOn("cpu", graph, inputs).status().code(), absl::StatusCode::kInvalidArgument);
    const absl::Status status = RunOn("cuda", graph, inputs).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    const std::string expected =
        absl::StrCat("index ", position, " at position 2 is out of range for an axis of size 6");
    EXPECT_NE(status.message().find(expected), std::string::npos) << status;
  }
}

}  // namespace
}  // namespace onward::emulated_cuda
