// cuDNN plans each graph that the provider makes, for each described device.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/attention_graph.h"
#include "kernels/cuda/conv_graph.h"
#include "kernels/cuda/cudnn_plan.h"

namespace onward::kernels::cuda {
namespace {

std::string DescriptionOf(const std::string& device) {
  std::ifstream file(absl::StrCat(ONWARD_DEVICES, "/", device, ".json"));
  return std::string(std::istreambuf_iterator<char>(file), {});
}

class CudnnPlans : public testing::TestWithParam<const char*> {
 protected:
  absl::StatusOr<std::unique_ptr<CudnnPlan>> Plan(const CudnnGraph& graph,
                                                  const PlanDemands& demands = {}) const {
    return CudnnPlan::Make(graph, demands, &device_);
  }

 private:
  const std::string device_ = DescriptionOf(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Devices, CudnnPlans, testing::Values("a100", "h100", "h200", "b200"),
                         [](const auto& device) { return std::string(device.param); });

struct AttentionShape {
  const char* model;
  int64_t batch, q_heads, kv_heads, q_len, keys, size;
  bool packed;
  AttentionMask mask;
  DType dtype;
  int64_t window = 0;
};

AttentionCall CallOf(const AttentionShape& s) {
  AttentionCall call;
  AttentionGeometry& g = call.g;
  g.batch = s.batch, g.q_heads = s.q_heads, g.kv_heads = s.kv_heads;
  g.q_len = s.q_len, g.new_len = s.keys, g.head_size = g.v_head_size = s.size;
  const auto place = [&](int64_t heads, int64_t length, int64_t& batch, int64_t& head,
                         int64_t& row) {
    row = s.packed ? heads * s.size : s.size;
    head = s.packed ? s.size : length * s.size;
    batch = heads * length * s.size;
  };
  place(s.q_heads, s.q_len, g.q_batch, g.q_head, g.q_row);
  place(s.kv_heads, s.keys, g.k_batch, g.k_head, g.k_row);
  place(s.kv_heads, s.keys, g.v_batch, g.v_head, g.v_row);
  place(s.q_heads, s.q_len, g.y_batch, g.y_head, g.y_row);
  call.dtype = s.dtype;
  call.scale = 0.125f;
  call.mask = s.mask;
  call.window = s.window;
  call.bias_row = (s.keys + 7) / 8 * 8;
  if (s.size == 80) call.bias_head = s.q_len * call.bias_row;
  if (s.batch > 1) call.bias_batch = (s.size == 80 ? s.q_heads : 1) * s.q_len * call.bias_row;
  return call;
}

TEST_P(CudnnPlans, TakeAttentionOfModels) {
  constexpr DType kHalf = DType::kFloat16, kBrain = DType::kBFloat16;
  using Mask = AttentionMask;
  const AttentionShape shapes[] = {
      {"bert_base", 8, 12, 12, 128, 128, 64, true, Mask::kBias, kHalf},
      {"bert_base, odd", 3, 12, 12, 37, 37, 64, true, Mask::kBias, kBrain},
      {"gpt2", 2, 12, 12, 1024, 1024, 64, false, Mask::kCausal, kBrain},
      {"gpt2, decoding", 1, 12, 12, 1, 128, 64, false, Mask::kLengths, kHalf},
      {"vit_b_16", 4, 12, 12, 197, 197, 64, true, Mask::kNone, kHalf},
      {"llama_tiny", 1, 4, 2, 16, 16, 16, false, Mask::kCausal, kHalf},
      {"llama, decoding", 4, 32, 8, 1, 4096, 128, true, Mask::kLengths, kBrain},
      {"llama, next part of a prompt", 1, 32, 8, 100, 612, 128, false, Mask::kCausalAtEnd, kBrain},
      {"mistral", 1, 32, 8, 300, 300, 128, false, Mask::kCausal, kBrain, 64},
      {"whisper, encoder", 1, 6, 6, 1500, 1500, 64, true, Mask::kNone, kHalf},
      {"whisper, across", 1, 6, 6, 4, 1500, 64, true, Mask::kNone, kHalf},
      {"unet", 2, 8, 8, 4096, 77, 80, true, Mask::kBias, kHalf},
      {"one position", 1, 2, 1, 1, 1, 8, false, Mask::kNone, kHalf},
      {"window at the end", 2, 4, 2, 5, 131, 24, false, Mask::kCausalAtEnd, kHalf, 9},
      {"odd lengths", 2, 4, 4, 3, 5, 40, false, Mask::kLengths, kBrain},
  };
  for (const AttentionShape& shape : shapes) {
    const auto plan = Plan(AttentionGraph(CallOf(shape)));
    SCOPED_TRACE(shape.model);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_LE((*plan)->workspace(), PlanDemands().most_workspace);
  }
}

TEST_P(CudnnPlans, TakeGradientsOfAttention) {
  constexpr DType kHalf = DType::kFloat16, kBrain = DType::kBFloat16;
  using Mask = AttentionMask;
  const AttentionShape shapes[] = {
      {"bert_base, odd", 3, 12, 12, 37, 37, 64, true, Mask::kBias, kBrain},
      {"gpt2, as many heads as a call takes", 1, 64, 64, 1024, 1024, 64, false, Mask::kCausal,
       kBrain},
      {"gpt2, all heads of a batch", 16, 12, 12, 1024, 1024, 64, false, Mask::kCausal, kBrain},
      {"gpt2, odd", 2, 12, 12, 77, 77, 64, true, Mask::kCausal, kHalf},
      {"llama_tiny", 1, 4, 2, 16, 16, 16, false, Mask::kCausal, kHalf},
      {"llama", 1, 32, 8, 500, 500, 128, true, Mask::kCausal, kBrain},
      {"mistral", 1, 32, 8, 300, 300, 128, false, Mask::kCausal, kBrain, 64},
      {"whisper, across", 1, 6, 6, 4, 1500, 64, true, Mask::kNone, kHalf},
      {"unet", 2, 8, 8, 1024, 77, 80, true, Mask::kBias, kHalf},
      {"one query", 1, 2, 1, 1, 3, 8, false, Mask::kNone, kHalf},
      {"more keys than queries", 2, 4, 2, 5, 131, 24, false, Mask::kCausal, kHalf, 9},
      {"lengths", 2, 4, 4, 3, 5, 40, false, Mask::kLengths, kBrain},
  };
  for (const AttentionShape& shape : shapes) {
    SCOPED_TRACE(shape.model);
    AttentionCall call = CallOf(shape);
    call.keeps_logs = true;
    // Twice the scores of whole tiles, as the kernel asks.
    const auto in_tiles = [](int64_t length) { return (length + 63) / 64 * 64; };
    PlanDemands demands;
    demands.most_workspace =
        std::max(demands.most_workspace,
                 4 * shape.batch * shape.q_heads * in_tiles(shape.q_len) * in_tiles(shape.keys));
    for (const CudnnGraph& graph : {AttentionGraph(call), AttentionGradientGraph(call)}) {
      const auto plan = Plan(graph, demands);
      ASSERT_TRUE(plan.ok()) << plan.status();
      EXPECT_LE((*plan)->workspace(), demands.most_workspace);
    }
  }
}

// Why the provider refuses them, too.
TEST_P(CudnnPlans, RefuseHeadsOfOddSizes) {
  for (const int64_t size : {4, 100, 513}) {
    EXPECT_FALSE(CheckAttentionHeads(size, size).ok());
    const AttentionShape shape = {
        "", 1, 2, 2, 16, 16, size, false, AttentionMask::kNone, DType::kFloat16};
    EXPECT_FALSE(Plan(AttentionGraph(CallOf(shape))).ok()) << size;
  }
}

struct ConvShape {
  const char* model;
  ConvSizes sizes;
};

WindowAxis AxisOf(int64_t input, int64_t kernel, int64_t stride, int64_t pad) {
  return {input, (input + 2 * pad - kernel) / stride + 1, kernel, stride, 1, pad, pad};
}

std::vector<ConvShape> ConvShapes() {
  const auto images = [](int64_t batch, int64_t channels, int64_t filters, int64_t group,
                         const WindowAxis& axis) {
    return ConvSizes{batch, channels, filters, group, {axis, axis}};
  };
  return {
      {"resnet50", images(16, 64, 64, 1, AxisOf(56, 3, 1, 1))},
      {"resnet50, first", images(1, 3, 64, 1, AxisOf(224, 7, 2, 3))},
      {"resnet50, smaller", images(4, 256, 512, 1, AxisOf(56, 1, 2, 0))},
      {"vit_b_16", images(2, 3, 768, 1, AxisOf(224, 16, 16, 0))},
      {"regnet", images(2, 104, 104, 13, AxisOf(28, 3, 1, 1))},
      {"efficientnet", images(2, 32, 32, 32, AxisOf(14, 5, 2, 2))},
      {"whisper", {1, 80, 384, 1, {AxisOf(1, 1, 1, 0), AxisOf(3000, 3, 1, 1)}}},
      {"odd", {1, 3, 5, 1, {AxisOf(9, 3, 2, 1), AxisOf(7, 2, 1, 0)}}},
      {"tensorflow, SAME", images(1, 3, 32, 1, {224, 112, 3, 2, 1, 0, 1})},
      {"silero_vad, trimmed", {1, 64, 64, 1, {AxisOf(1, 1, 1, 0), {2, 1, 2, 2, 1, 0, 0}}}},
      {"causal", {2, 128, 128, 1, {AxisOf(1, 1, 1, 0), {500, 500, 3, 1, 2, 4, 0}}}},
      {"in groups", images(2, 32, 32, 8, {28, 14, 3, 2, 1, 0, 1})},
  };
}

constexpr DType kFloats[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16, DType::kFloat64};

TEST_P(CudnnPlans, TakeConvolutionsAndTheirGradients) {
  for (const ConvShape& shape : ConvShapes()) {
    for (const DType dtype : kFloats) {
      SCOPED_TRACE(absl::StrCat(shape.model, " of ", std::string(DTypeName(dtype))));
      for (const Precision precision : {Precision::kDefault, Precision::kFast}) {
        const PlanDemands demands = ConvDemands(dtype, precision);
        const auto plan = Plan(ConvGraph(shape.sizes, dtype, {}), demands);
        EXPECT_TRUE(plan.ok()) << plan.status();
        for (const auto& graph_of : {ConvImageGradientGraph, ConvWeightGradientGraph}) {
          const auto gradient = Plan(graph_of(shape.sizes, dtype), demands);
          EXPECT_TRUE(gradient.ok()) << gradient.status();
        }
      }
    }
  }
}

// In the kernels of convolutions, where these have no groups.
TEST_P(CudnnPlans, TakeWhatFollowsConvolutions) {
  const ConvEnd ends[] = {{true, false, false}, {true, false, true}, {true, true, true}};
  for (const ConvShape& shape : ConvShapes()) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
      SCOPED_TRACE(absl::StrCat(shape.model, " of ", std::string(DTypeName(dtype))));
      for (const ConvEnd& end : ends) {
        if (shape.sizes.group != 1) continue;
        const auto plan =
            Plan(ConvGraph(shape.sizes, dtype, end), ConvDemands(dtype, Precision::kDefault));
        EXPECT_TRUE(plan.ok()) << plan.status();
      }
    }
  }
}

}  // namespace
}  // namespace onward::kernels::cuda
