// The scale's history beside torch.amp.GradScaler's (autocast/make_cases.py), and what runs see.
#include "training/rewrite/loss_scale.h"

#include <gtest/gtest.h>

#include <limits>

#include "files/npy.h"
#include "graph/ir/graph_edit.h"
#include "onward/session.h"
#include "tests/support/text_model.h"
#include "training/step/step_outputs.h"

namespace onward::training {
namespace {

using namespace expr;  // NOLINT

TEST(LossScale, HistoryIsPyTorchs) {
  const auto arrays =
      files::ReadNpz(ONWARD_SOURCE_DIR "/tests/training/rewrite/autocast/cases/scaler.npz");
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  std::map<std::string, Tensor> history(arrays->begin(), arrays->end());
  PrecisionConfig config;
  config.set_growth(3);
  config.set_backoff(0.3);
  config.set_growth_interval(3);
  LossScale scale = {static_cast<double>(3e37f), 0};
  for (int64_t i = 0; i < history.at("scale").num_elements(); ++i) {
    scale = NextLossScale(config, scale, history.at("finite").data<int64_t>()[i] != 0);
    EXPECT_EQ(scale.scale, history.at("scale").data<double>()[i]) << i;
  }
}

TEST(LossScale, UnscalesAndTellsWhatIsNotFinite) {
  auto model = testing::ModelFromText("g (float[2] a, float[1] b) => () {}");
  ASSERT_TRUE(model.ok()) << model.status();
  Graph& graph = model->graph;
  GraphSink sink(graph, "unscale/");
  std::optional<ValueId> scale;
  const UnscaledGradients unscaled =
      Unscale(sink, {sink.Value(graph.FindValue("a")), sink.Value(graph.FindValue("b"))}, scale);
  ASSERT_TRUE(sink.status().ok()) << sink.status();
  GraphEdit(graph).Rename(unscaled.gradients[0].id(), "half");
  GraphEdit(graph).AddOutput(unscaled.gradients[0].id());
  GraphEdit(graph).Rename(unscaled.finite.id(), kGradientsFinite);
  GraphEdit(graph).AddOutput(unscaled.finite.id());
  auto session = Session::Create(*std::move(model));
  ASSERT_TRUE(session.ok()) << session.status();
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto run = [&](float first, float second) {
    auto outputs = (*session)->Run({{"a", Tensor::Of<float>({2}, {3e38f, first})},
                                    {"b", Tensor::Of<float>({1}, {second})},
                                    {kLossScaleInput, Tensor::Scalar(2.0f)}});
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_EQ(outputs->at("half").tensor().data<float>()[0], 1.5e38f);
    return outputs->at(kGradientsFinite).tensor().data<bool>()[0];
  };
  EXPECT_TRUE(run(3e38f, -3e38f));
  EXPECT_FALSE(run(infinity, 1));
  EXPECT_FALSE(run(1, -infinity));
  EXPECT_FALSE(run(nan, 1));
}

}  // namespace
}  // namespace onward::training
