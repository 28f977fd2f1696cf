// The gradient of attention on the device, compared with the CPU's, which computes it in float32.
#include "tests/emulated_cuda/case_draw.h"
#include "tests/emulated_cuda/compared_operator.h"

namespace onward::emulated_cuda {
namespace {

constexpr DType kTypes[] = {DType::kFloat16, DType::kBFloat16};

struct GradientCase {
  int64_t batch = 2, q_heads = 2, kv_heads = 2, q_len = 5, keys = 5;
  int64_t head_size = 8, v_head_size = 8;
  bool packed = false, has_counts = false;
  std::string attributes = "";  // "is_causal = 1, "
  Dims mask = {};               // empty: none
  DType mask_dtype = DType::kBool;
  std::string softcap = "0.0";
  std::string wanted[3] = {"x", "y", "z"};  // names of dQ, dK and dV; empty: none
};

Operand HeadsOf(const GradientCase& c, DType dtype, int64_t heads, int64_t length, int64_t size) {
  if (c.packed) return {dtype, {c.batch, length, heads * size}};
  return {dtype, {c.batch, heads, length, size}};
}

// On inputs a (Q), b (K), c (V), d (dY), then those that there are of the mask and the counts.
std::string GraphOf(const GradientCase& c, DType dtype) {
  const std::string types[] = {TextOf(HeadsOf(c, dtype, c.q_heads, c.q_len, c.head_size)),
                               TextOf(HeadsOf(c, dtype, c.kv_heads, c.keys, c.head_size)),
                               TextOf(HeadsOf(c, dtype, c.kv_heads, c.keys, c.v_head_size))};
  std::vector<std::string> outputs;
  for (size_t i = 0; i < 3; ++i)
    if (!c.wanted[i].empty()) outputs.push_back(absl::StrCat(types[i], " ", c.wanted[i]));
  const std::string heads =
      c.packed ? absl::StrCat("q_num_heads = ", c.q_heads, ", kv_num_heads = ", c.kv_heads, ", ")
               : "";
  const std::string mask = c.mask.empty() ? "" : "e";
  const std::string counts = !c.has_counts ? "" : c.mask.empty() ? "e" : "f";
  return absl::StrCat("(", absl::StrJoin(outputs, ", "), ") { ", absl::StrJoin(c.wanted, ", "),
                      " = onward.AttentionGradient <", heads, c.attributes, "softcap = ", c.softcap,
                      "> (a, b, c, d, ", mask, ", ", counts, ") }");
}

std::vector<Tensor> InputsOf(const GradientCase& c, DType dtype, uint32_t seed) {
  CaseDraw draw(seed);
  const auto floats = [&](const Operand& operand) {
    return draw.Floats(operand.dtype, operand.dims, -1.5, 1.5);
  };
  std::vector<Tensor> inputs = {floats(HeadsOf(c, dtype, c.q_heads, c.q_len, c.head_size)),
                                floats(HeadsOf(c, dtype, c.kv_heads, c.keys, c.head_size)),
                                floats(HeadsOf(c, dtype, c.kv_heads, c.keys, c.v_head_size)),
                                floats(HeadsOf(c, dtype, c.q_heads, c.q_len, c.v_head_size))};
  if (!c.mask.empty()) {
    inputs.push_back(c.mask_dtype == DType::kBool ? Filled({DType::kBool, c.mask}, seed, false)
                                                  : floats({c.mask_dtype, c.mask}));
  }
  if (c.has_counts) inputs.push_back(draw.Integers({c.batch}, 0, c.keys));
  return inputs;
}

// The CPU's gradients.
void ExpectGradients(const GradientCase& c, DType dtype, uint32_t seed) {
  ExpectAsCpu(GraphOf(c, dtype), InputsOf(c, dtype, seed), 6 * ToleranceOf(dtype));
}

TEST(EmulatedAttentionGradient, IsTheCpus) {
  const GradientCase cases[] = {
      {},
      {.q_heads = 4, .packed = true},
      {.q_len = 3, .head_size = 16, .attributes = "scale = 0.25, "},
      {.attributes = "is_causal = 1, "},
      {.q_len = 3, .keys = 7, .attributes = "is_causal = 1, "},
      {.q_len = 7, .keys = 3, .attributes = "is_causal = 1, "},
      {.q_len = 9, .keys = 9, .attributes = "is_causal = 1, left_window_size = 2, "},
      {.attributes = "left_window_size = 1, right_window_size = 1, "},
      {.q_len = 9, .keys = 4, .attributes = "left_window_size = 1, "},
      {.q_heads = 4, .mask = {5, 5}},
      {.mask = {2, 1, 1, 5}},
      {.mask = {2, 2, 5, 5}, .mask_dtype = DType::kFloat32},
      {.attributes = "is_causal = 1, ", .mask = {1, 2, 5, 3}},
      {.q_len = 3, .keys = 9, .has_counts = true},
      {.q_heads = 6, .q_len = 3, .keys = 9, .has_counts = true, .attributes = "is_causal = 1, "},
      {.q_len = 3, .keys = 9, .has_counts = true, .attributes = "is_causal = 1, ", .mask = {3, 9}},
      {.q_heads = 4, .wanted = {"", "y", ""}},
      {.q_heads = 4, .wanted = {"x", "", "z"}},
      {.q_heads = 4, .q_len = 1, .keys = 1},
      {.batch = 0},
      {.q_len = 0},
      {.keys = 0},
  };
  for (const DType dtype : kTypes)
    for (const GradientCase& c : cases) ExpectGradients(c, dtype, 1);
}

TEST(EmulatedAttentionGradient, OfDrawnSizesIsTheCpus) {
  constexpr const char* kAttributes[] = {"", "is_causal = 1, ", "scale = 0.5, ",
                                         "is_causal = 1, left_window_size = 3, "};
  for (uint32_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    CaseDraw draw(seed);
    GradientCase c;
    c.batch = draw.From(1, 3);
    c.kv_heads = draw.From(1, 2);
    c.q_heads = c.kv_heads * draw.From(1, 3);
    c.q_len = draw.From(2, 9);
    c.keys = draw.From(0, 2) == 0 ? draw.From(1, 9) : c.q_len;
    c.head_size = 8 * draw.From(1, 3);
    c.v_head_size = 8 * draw.From(1, 3);
    c.packed = draw.From(0, 1) == 0;
    c.has_counts = draw.From(0, 2) == 0;
    c.attributes = draw.Of(kAttributes);
    if (draw.From(0, 2) == 0) {
      c.mask = {draw.From(0, 1) == 0 ? 1 : c.batch, draw.From(0, 1) == 0 ? 1 : c.q_heads, c.q_len,
                c.keys};
      c.mask_dtype = draw.From(0, 1) == 0 ? DType::kBool : DType::kFloat32;
    }
    ExpectGradients(c, kTypes[seed % 2], seed);
  }
}

// Cases that kernels of our own run, float32 and what cuDNN refuses, and float64 in parts.
TEST(EmulatedAttentionGradient, InTilesAndPartsIsTheCpus) {
  const GradientCase cases[] = {
      {},
      {.q_heads = 6, .q_len = 70, .keys = 130, .packed = true, .attributes = "is_causal = 1, "},
      {.q_len = 3, .keys = 140, .head_size = 6, .v_head_size = 5},
      {.head_size = 128, .v_head_size = 65, .attributes = "scale = 0.1, "},
      {.q_len = 150, .keys = 150, .attributes = "is_causal = 1, left_window_size = 9, "},
      {.q_len = 130, .keys = 70, .attributes = "left_window_size = 1, right_window_size = 1, "},
      {.q_heads = 4, .mask = {5, 5}},
      {.q_len = 66, .keys = 66, .mask = {2, 2, 66, 66}, .mask_dtype = DType::kFloat32},
      {.attributes = "is_causal = 1, ", .mask = {1, 2, 5, 3}},
      {.q_len = 3, .keys = 90, .has_counts = true, .attributes = "is_causal = 1, "},
      {.q_heads = 4, .wanted = {"", "y", ""}},
      {.q_heads = 4, .wanted = {"x", "", "z"}},
      {.q_len = 1, .keys = 1},
      {.batch = 0},
      {.q_len = 0},
      {.keys = 0},
  };
  for (const DType dtype : {DType::kFloat64, DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    for (GradientCase c : cases) {
      const double tolerance = 6 * ToleranceOf(dtype);
      c.softcap = "3.0";
      ExpectAsCpu(GraphOf(c, dtype), InputsOf(c, dtype, 1), tolerance);
      c.softcap = "0.0";
      if (ByteSize(dtype, 1) >= 4) ExpectAsCpu(GraphOf(c, dtype), InputsOf(c, dtype, 1), tolerance);
    }
  }
}

TEST(EmulatedAttentionGradient, IsTwoCallsOfCudnn) {
  const GradientCase c = {.q_heads = 4, .mask = {5, 5}};
  const std::string graph = GraphOf(c, DType::kFloat16);
  ResetCounters();
  ASSERT_TRUE(RunOn("cuda", graph, InputsOf(c, DType::kFloat16, 1)).ok());
  EXPECT_EQ(Counted().attentions, 2);
  EXPECT_EQ(Counted().products, 0);
}

// A call takes as many heads as its workspace has room for: 16,384 of up to 64 queries and keys.
TEST(EmulatedAttentionGradient, OfManyHeadsIsTakenInSlices) {
  const GradientCase c = {.q_heads = 16386,
                          .kv_heads = 16386,
                          .q_len = 1,
                          .keys = 2,
                          .packed = true,
                          .mask = {2, 16386, 1, 2}};
  const std::string graph = GraphOf(c, DType::kFloat16);
  const std::vector<Tensor> inputs = InputsOf(c, DType::kFloat16, 1);
  ResetCounters();
  const auto actual = RunOn("cuda", graph, inputs), expected = RunOn("cpu", graph, inputs);
  EXPECT_EQ(Counted().attentions, 2 * 4) << "two slices of heads for each of two batches";
  ASSERT_TRUE(actual.ok() && expected.ok()) << actual.status() << expected.status();
  for (const auto& [name, value] : *expected) {
    EXPECT_EQ(testing::Difference(actual->at(name).tensor(), value.tensor(), 1e-2, 1e-2), "")
        << name;
  }
}

}  // namespace
}  // namespace onward::emulated_cuda
