// Attention on the device: in one kernel of cuDNN where that takes it, in parts where not.
#include "tests/emulated_cuda/case_draw.h"
#include "tests/emulated_cuda/compared_operator.h"

namespace onward::emulated_cuda {
namespace {

constexpr DType kTypes[] = {DType::kFloat16, DType::kBFloat16};

struct AttentionCase {
  int64_t batch = 2, q_heads = 2, kv_heads = 2, q_len = 5, new_len = 5, past_len = 0;
  int64_t head_size = 8, v_head_size = 8;
  bool packed = false, has_past = false, has_counts = false;
  std::string attributes = "";  // "is_causal = 1, "
  Dims mask = {};               // empty: none
  DType mask_dtype = DType::kBool;
};

Operand HeadsOf(const AttentionCase& c, DType dtype, int64_t heads, int64_t length, int64_t size) {
  if (c.packed) return {dtype, {c.batch, length, heads * size}};
  return {dtype, {c.batch, heads, length, size}};
}

// The graph on inputs a (Q), b (K), c (V), then those that there are of the mask, the caches and
// the counts.
std::string GraphOf(const AttentionCase& c, DType dtype) {
  const int64_t total = c.past_len + c.new_len;
  std::string outputs =
      absl::StrCat(TextOf(HeadsOf(c, dtype, c.q_heads, c.q_len, c.v_head_size)), " y");
  std::string results = "y", inputs = "a, b, c";
  char next = 'd';
  const auto input = [&](bool present) {
    absl::StrAppend(&inputs, ", ", present ? std::string(1, next++) : "");
  };
  input(!c.mask.empty());
  input(c.has_past);
  input(c.has_past);
  if (c.has_counts) input(true);
  if (c.has_past) {
    absl::StrAppend(&outputs, ", ", TextOf({dtype, {c.batch, c.kv_heads, total, c.head_size}}),
                    " k, ", TextOf({dtype, {c.batch, c.kv_heads, total, c.v_head_size}}), " v");
    results = "y, k, v";
  }
  const std::string heads =
      c.packed ? absl::StrCat("q_num_heads = ", c.q_heads, ", kv_num_heads = ", c.kv_heads, ", ")
               : "";
  return absl::StrCat("(", outputs, ") { ", results, " = Attention <", heads, c.attributes,
                      "qk_matmul_output_mode = 0> (", inputs, ") }");
}

std::vector<Tensor> InputsOf(const AttentionCase& c, DType dtype, uint32_t seed) {
  CaseDraw draw(seed);
  const auto floats = [&](const Operand& operand) {
    return draw.Floats(operand.dtype, operand.dims, -2, 2);
  };
  std::vector<Tensor> inputs = {floats(HeadsOf(c, dtype, c.q_heads, c.q_len, c.head_size)),
                                floats(HeadsOf(c, dtype, c.kv_heads, c.new_len, c.head_size)),
                                floats(HeadsOf(c, dtype, c.kv_heads, c.new_len, c.v_head_size))};
  if (!c.mask.empty()) {
    inputs.push_back(c.mask_dtype == DType::kBool ? Filled({DType::kBool, c.mask}, seed, false)
                                                  : floats({c.mask_dtype, c.mask}));
  }
  if (c.has_past) {
    inputs.push_back(floats({dtype, {c.batch, c.kv_heads, c.past_len, c.head_size}}));
    inputs.push_back(floats({dtype, {c.batch, c.kv_heads, c.past_len, c.v_head_size}}));
  }
  if (c.has_counts) inputs.push_back(draw.Integers({c.batch}, 0, c.new_len));
  return inputs;
}

// The CPU's results, by one call of cuDNN.
void ExpectFused(const AttentionCase& c, DType dtype, uint32_t seed) {
  ResetCounters();
  ExpectAsCpu(GraphOf(c, dtype), InputsOf(c, dtype, seed), 4 * ToleranceOf(dtype));
}

TEST(EmulatedAttention, IsTheCpus) {
  const AttentionCase cases[] = {
      {},
      {.q_heads = 4, .packed = true},
      {.q_len = 3, .head_size = 16, .attributes = "scale = 0.25, "},
      {.attributes = "is_causal = 1, "},
      {.q_len = 3, .new_len = 7, .attributes = "is_causal = 1, "},
      {.q_len = 9, .new_len = 9, .attributes = "is_causal = 1, left_window_size = 2, "},
      {.attributes = "left_window_size = 1, right_window_size = 1, "},
      {.q_heads = 4, .mask = {5, 5}},
      {.mask = {2, 1, 1, 5}},
      {.mask = {2, 2, 5, 5}, .mask_dtype = DType::kFloat32},
      {.attributes = "is_causal = 1, ", .mask = {1, 2, 5, 3}},
      {.q_len = 2, .new_len = 2, .past_len = 3, .has_past = true},
      {.q_len = 2, .new_len = 2, .past_len = 3, .has_past = true, .attributes = "is_causal = 1, "},
      {.q_len = 1, .new_len = 1, .past_len = 3, .has_past = true, .attributes = "is_causal = 1, "},
      {.q_len = 1, .new_len = 1, .past_len = 63, .has_past = true},
      {.q_len = 1, .new_len = 1, .past_len = 0, .has_past = true, .attributes = "is_causal = 1, "},
      {.q_len = 1, .new_len = 2, .past_len = 3, .has_past = true, .attributes = "is_causal = 1, "},
      {.q_heads = 4,
       .q_len = 1,
       .new_len = 9,
       .packed = true,
       .has_counts = true,
       .attributes = "is_causal = 1, "},
      {.q_len = 3, .new_len = 9, .has_counts = true},
      {.q_len = 3, .new_len = 9, .has_counts = true, .attributes = "is_causal = 1, "},
      {.q_len = 3,
       .new_len = 9,
       .has_counts = true,
       .attributes = "is_causal = 1, ",
       .mask = {3, 9}},
      {.batch = 0},
      {.q_len = 0},
  };
  for (const DType dtype : kTypes)
    for (const AttentionCase& c : cases) ExpectFused(c, dtype, 1);
}

TEST(EmulatedAttention, OfDrawnSizesIsTheCpus) {
  constexpr const char* kAttributes[] = {"", "is_causal = 1, ", "scale = 0.5, ",
                                         "is_causal = 1, left_window_size = 3, "};
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    CaseDraw draw(seed);
    AttentionCase c;
    c.batch = draw.From(1, 3);
    c.kv_heads = draw.From(1, 2);
    c.q_heads = c.kv_heads * draw.From(1, 3);
    c.q_len = draw.From(1, 9);
    c.new_len = draw.From(0, 2) == 0 ? draw.From(1, 9) : c.q_len;
    c.head_size = 8 * draw.From(1, 3);
    c.v_head_size = 8 * draw.From(1, 3);
    c.packed = draw.From(0, 1) == 0;
    c.has_past = draw.From(0, 2) == 0;
    c.past_len = c.has_past ? draw.From(0, 9) : 0;
    c.has_counts = !c.has_past && draw.From(0, 2) == 0;
    c.attributes = draw.Of(kAttributes);
    if (draw.From(0, 2) == 0) {
      c.mask = {draw.From(0, 1) == 0 ? 1 : c.batch, draw.From(0, 1) == 0 ? 1 : c.q_heads, c.q_len,
                c.past_len + c.new_len};
      c.mask_dtype = draw.From(0, 1) == 0 ? DType::kBool : DType::kFloat32;
    }
    ExpectFused(c, kTypes[seed % 2], seed);
  }
}

TEST(EmulatedAttention, IsOneCallOfCudnn) {
  const AttentionCase c = {.mask = {5, 5}};
  const std::string graph = GraphOf(c, DType::kFloat16);
  ResetCounters();
  ASSERT_TRUE(RunOn("cuda", graph, InputsOf(c, DType::kFloat16, 1)).ok());
  const Counters counted = Counted();
  EXPECT_EQ(counted.attentions, 1);
  EXPECT_EQ(counted.products, 0);
}

// As exporters write it, in parts; the keys grow by one position a step.
TEST(EmulatedAttention, OfGrowingKeysHasOnePlan) {
  const std::string text =
      "g (float16[1,2,1,8] a, float16[1,2,T,8] b, float16[1,2,T,8] c) => (float16[1,2,1,8] y) {"
      "t = Transpose <perm = [0, 1, 3, 2]> (b) s = MatMul(a, t) p = Softmax(s) y = MatMul(p, c) }";
  std::unique_ptr<Session> sessions[2];
  for (int i = 0; i < 2; ++i) {
    SessionOptions options;
    options.provider = i == 0 ? "cpu" : "cuda";
    auto session = Session::Create(*testing::ModelFromText(text), options);
    ASSERT_TRUE(session.ok()) << session.status();
    sessions[i] = *std::move(session);
  }
  ResetCounters();
  for (int64_t length = 1; length <= 70; ++length) {
    SCOPED_TRACE(length);
    const AttentionCase c = {.batch = 1, .q_len = 1, .new_len = length};
    const std::vector<Tensor> inputs = InputsOf(c, DType::kFloat16, 1);
    const Session::Inputs given = {
        {"a", Value(inputs[0])}, {"b", Value(inputs[1])}, {"c", Value(inputs[2])}};
    const auto expected = sessions[0]->Run(given), actual = sessions[1]->Run(given);
    ASSERT_TRUE(expected.ok() && actual.ok()) << actual.status();
    EXPECT_EQ(testing::Difference(actual->at("y").tensor(), expected->at("y").tensor(), 8e-3, 8e-3),
              "");
  }
  EXPECT_EQ(Counted().attentions, 70);
  EXPECT_EQ(Counted().heuristics, 2);  // up to 64 positions, and up to 128
}

// Cases that kernels of our own run, float32 and what cuDNN refuses, and float64 in parts.
TEST(EmulatedAttention, InTilesAndPartsIsTheCpus) {
  const AttentionCase cases[] = {
      {},
      {.q_heads = 6, .q_len = 70, .new_len = 130, .packed = true, .attributes = "is_causal = 1, "},
      {.q_len = 3, .new_len = 140, .head_size = 6, .v_head_size = 5},
      {.head_size = 128, .v_head_size = 65, .attributes = "scale = 0.1, "},
      {.q_len = 150, .new_len = 150, .attributes = "is_causal = 1, left_window_size = 9, "},
      {.q_len = 130, .new_len = 70, .attributes = "left_window_size = 1, right_window_size = 1, "},
      {.q_heads = 4, .mask = {5, 5}},
      {.q_len = 66, .new_len = 66, .mask = {2, 2, 66, 66}, .mask_dtype = DType::kFloat32},
      {.attributes = "is_causal = 1, ", .mask = {1, 2, 5, 3}},
      {.q_len = 3, .new_len = 90, .has_counts = true, .attributes = "is_causal = 1, "},
      {.batch = 0},
      {.q_len = 0},
      {.new_len = 0},
  };
  for (const DType dtype : {DType::kFloat64, DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    for (AttentionCase c : cases) {
      absl::StrAppend(&c.attributes, "softcap = 3.0, ");
      ExpectAsCpu(GraphOf(c, dtype), InputsOf(c, dtype, 1), 4 * ToleranceOf(dtype));
      if (ByteSize(dtype, 1) < 4) continue;
      c.attributes.resize(c.attributes.size() - std::string("softcap = 3.0, ").size());
      ExpectAsCpu(GraphOf(c, dtype), InputsOf(c, dtype, 1), 4 * ToleranceOf(dtype));
    }
  }
}

// One query: fewer keys than a block takes at once, and several times as many.
TEST(EmulatedAttention, OfOneQueryIsTheCpus) {
  const AttentionCase cases[] = {
      {.q_len = 1, .new_len = 1},
      {.q_len = 1, .new_len = 700},
      {.batch = 1, .q_heads = 6, .q_len = 1, .new_len = 90, .head_size = 64, .v_head_size = 64},
      {.q_len = 1, .new_len = 300, .head_size = 64, .v_head_size = 30, .packed = true},
      {.q_len = 1, .new_len = 33, .head_size = 6, .v_head_size = 5},
      {.q_len = 1,
       .new_len = 70,
       .head_size = 128,
       .v_head_size = 65,
       .attributes = "scale = 2.0, "},
      {.q_heads = 4, .q_len = 1, .new_len = 40, .mask = {1, 40}},
      {.q_len = 1, .new_len = 66, .mask = {2, 2, 1, 66}, .mask_dtype = DType::kFloat32},
      {.q_len = 1, .new_len = 90, .has_counts = true, .attributes = "is_causal = 1, "},
      {.q_len = 1, .new_len = 90, .has_counts = true, .attributes = "left_window_size = 9, "},
      {.batch = 0, .q_len = 1},
      {.q_len = 1, .new_len = 0},
  };
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    for (AttentionCase c : cases) {
      ExpectAsCpu(GraphOf(c, dtype), InputsOf(c, dtype, 1), 4 * ToleranceOf(dtype));
      absl::StrAppend(&c.attributes, "softcap = 3.0, ");
      ExpectAsCpu(GraphOf(c, dtype), InputsOf(c, dtype, 1), 4 * ToleranceOf(dtype));
    }
  }
}

// The parts that exporters write: one kernel for one query, products and a softmax for more.
TEST(EmulatedAttention, OfOneQueryInPartsIsOneKernel) {
  for (const int64_t q_len : {1, 2}) {
    const Dims q = {1, 2, q_len, 8}, k = {1, 2, 5, 8};
    const std::string graph =
        absl::StrCat("(", TextOf({DType::kFloat32, q}),
                     " y) { t = Transpose <perm = [0, 1, 3, 2]> (b) s = MatMul (a, t)"
                     " p = Softmax (s) y = MatMul (p, c) }");
    const std::vector<Tensor> inputs = {Filled({DType::kFloat32, q}, 1, false),
                                        Filled({DType::kFloat32, k}, 2, false),
                                        Filled({DType::kFloat32, k}, 3, false)};
    ExpectAsCpu(graph, inputs, 1e-5);
    SessionOptions options;
    options.provider = "cuda";
    const auto session = Session::Create(
        *testing::ModelFromText(absl::StrCat("g (", TextOf({DType::kFloat32, q}), " a, ",
                                             TextOf({DType::kFloat32, k}), " b, ",
                                             TextOf({DType::kFloat32, k}), " c) => ", graph)),
        options);
    ASSERT_TRUE(session.ok()) << session.status();
    int attentions = 0;
    for (const NodeExplanation& node : (*session)->Explain())
      attentions += node.kernel == "attention_cuda";
    EXPECT_EQ(attentions, q_len == 1 ? 1 : 0);
  }
}

TEST(EmulatedAttention, OfCachesRunsInParts) {
  const AttentionCase cases[] = {
      {.q_len = 2, .new_len = 2, .past_len = 3, .has_past = true},
      {.q_len = 2, .new_len = 0, .past_len = 0, .has_past = true},
  };
  for (const DType dtype : {DType::kFloat64, DType::kFloat32})
    for (const AttentionCase& c : cases)
      ExpectAsCpu(GraphOf(c, dtype), InputsOf(c, dtype, 1), 4 * ToleranceOf(dtype));
}

TEST(EmulatedAttention, PartsComeWithAReason) {
  std::string log;
  SessionOptions options;
  options.provider = "cuda";
  options.log = [&](const LogRecord& record) { absl::StrAppend(&log, record.message); };
  const auto session =
      Session::Create(*testing::ModelFromText("g (double[1, 2, 3, 8] a) => (double[1, 2, 3, 8] y) "
                                              "{ y = Attention (a, a, a) }"),
                      options);
  ASSERT_TRUE(session.ok()) << session.status();
  for (const char* reason : {"by attention_cudnn: cuDNN's attention takes float16 and bfloat16",
                             "by attention_cuda: sums are in float32"}) {
    EXPECT_NE(log.find(reason), std::string::npos) << log;
  }
}

TEST(EmulatedAttention, ACountOutOfRangeIsAnError) {
  const AttentionCase c = {.q_len = 1, .new_len = 4, .has_counts = true};
  std::vector<Tensor> inputs = InputsOf(c, DType::kFloat16, 1);
  inputs[3].mutable_data<int64_t>()[1] = 5;
  const absl::Status status = RunOn("cuda", GraphOf(c, DType::kFloat16), inputs).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("index 5 at position 1"), std::string::npos) << status;
}

}  // namespace
}  // namespace onward::emulated_cuda
