// Caches of any capacity give the scores of those that hold tokens only.
#include "generation/masked_cache.h"

#include <gtest/gtest.h>

#include <numeric>

#include "graph/ir/verify.h"
#include "onward/session.h"
#include "tests/generation/decoder_models.h"

namespace onward::generation {
namespace {

using testing::ExportedModel;
using testing::Positions;

bool Masks(Model model) {
  const auto masked = UseMaskedCaches(model);
  EXPECT_TRUE(masked.ok()) << masked.status();
  EXPECT_TRUE(Verify(model.graph).ok()) << Verify(model.graph);
  int concats = 0;
  for (const NodeId id : model.graph.node_ids())
    concats += model.graph.node(id).Is("TensorScatter") ? 1 : 0;
  EXPECT_EQ(concats, *masked ? 4 : 0);
  EXPECT_EQ(model.updates.size(), *masked ? 4u : 0u);
  return *masked;
}

TEST(MaskedCache, WhereConcatsGrowTheCaches) {
  EXPECT_TRUE(Masks(ExportedModel(Positions::kInput, true)));
  EXPECT_TRUE(Masks(ExportedModel(Positions::kMask, true)));
  EXPECT_FALSE(Masks(ExportedModel(Positions::kInput, false)));
  EXPECT_FALSE(Masks(ExportedModel(Positions::kInput, true, {.reads_past = true})));
}

// Runs `tokens` behind `past` columns, of which those from `held` on hold nothing.
std::vector<Tensor> RunOnce(Model model, const std::vector<int64_t>& tokens, int64_t columns,
                            int64_t held, int64_t width, const std::vector<Tensor>& caches) {
  auto session = Session::Create(std::move(model));
  EXPECT_TRUE(session.ok()) << session.status();
  const auto count = static_cast<int64_t>(tokens.size());
  Tensor mask(DType::kInt64, {1, width}), positions(DType::kInt64, {1, count});
  for (int64_t i = 0; i < width; ++i)
    mask.mutable_data<int64_t>()[i] = int64_t{i < held || i >= width - count};
  std::iota(positions.mutable_data<int64_t>(), positions.mutable_data<int64_t>() + count, held);
  Session::Inputs inputs = {{"input_ids", Tensor::Of<int64_t>({1, count}, tokens)},
                            {"attention_mask", mask},
                            {"position_ids", positions}};
  for (size_t i = 0; i < 4; ++i) {
    Tensor cache(DType::kFloat32, {1, 2, columns, 4});
    std::fill_n(cache.mutable_data<float>(), cache.num_elements(), 9.0f);
    for (int64_t head = 0; head < 2 && held > 0; ++head) {
      std::copy_n(caches[i].data<float>() + head * held * 4, held * 4,
                  cache.mutable_data<float>() + head * columns * 4);
    }
    inputs[absl::StrCat("past_key_values.", i / 2, i % 2 == 0 ? ".key" : ".value")] = cache;
  }
  auto outputs = (*session)->Run(inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  std::vector<Tensor> found = {outputs->at("logits").tensor()};
  for (size_t i = 0; i < 4; ++i) {
    found.push_back(
        outputs->at(absl::StrCat("present.", i / 2, i % 2 == 0 ? ".key" : ".value")).tensor());
  }
  return found;
}

TEST(MaskedCache, ScoresAreThoseOfTheTokensAlone) {
  const Model model = ExportedModel(Positions::kInput, true);
  Model masked = model;
  ASSERT_TRUE(*UseMaskedCaches(masked));
  const std::vector<Tensor> before = RunOnce(model, {3, 1, 4, 1, 5}, 0, 0, 5, {});
  const std::vector<Tensor> caches(before.begin() + 1, before.end());
  for (const std::vector<int64_t>& tokens : {std::vector<int64_t>{9}, {2, 6, 5}}) {
    const auto count = static_cast<int64_t>(tokens.size());
    const auto want = RunOnce(model, tokens, 5, 5, 5 + count, caches);
    for (const int64_t capacity : {5 + count, int64_t{11}, int64_t{40}}) {
      const auto found = RunOnce(masked, tokens, capacity, 5, capacity, caches);
      ASSERT_EQ(found[0].dims(), want[0].dims());
      for (int64_t i = 0; i < want[0].num_elements(); ++i)
        EXPECT_NEAR(found[0].data<float>()[i], want[0].data<float>()[i], 1e-5) << i;
      ASSERT_EQ(found[1].dims()[2], capacity);
      // The last columns are the new ones.
      const int64_t last = capacity * 4, new_last = (5 + count) * 4;
      for (int64_t i = 1; i <= count * 4; ++i)
        EXPECT_NEAR(found[1].data<float>()[last - i], want[1].data<float>()[new_last - i], 1e-5);
    }
  }
}

}  // namespace
}  // namespace onward::generation
