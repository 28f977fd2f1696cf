// MobileNetV2 as PyTorch writes it, with its BatchNormalizations: what a model with the gradients
// of all its parameters may take, where every size is known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "onward/builder.h"
#include "onward/functions.h"
#include "training/gradient/gradient_model.h"

namespace onward::training {
namespace {

using namespace expr;  // NOLINT

// The layers of torchvision's model. Channels are an eighth of its own: nodes do not depend on
// them.
class MobileNet {
 public:
  absl::StatusOr<Model> Build() {
    Expr x = Convolved(builder_.Input("image", DType::kFloat32, {1, 3, 32, 32}), 4, 3, 2, 1);
    x = Clipped(x);
    struct Row {
      int64_t expansion, channels, blocks, stride;
    };
    // Table 2 of Sandler et al., MobileNetV2 (2018).
    constexpr Row kRows[] = {{1, 2, 1, 1},  {6, 3, 2, 2},  {6, 4, 3, 2}, {6, 8, 4, 2},
                             {6, 12, 3, 1}, {6, 20, 3, 2}, {6, 40, 1, 1}};
    for (const Row& row : kRows)
      for (int64_t i = 0; i < row.blocks; ++i)
        x = Block(x, row.expansion, row.channels, i == 0 ? row.stride : 1);
    x = Clipped(Convolved(x, 160, 1, 1, 1));
    x = Op("Flatten", {Op("GlobalAveragePool", {x})});
    builder_.Output("y", Gemm(x, Weight({10, 160}), Weight({10}), false, true));
    return builder_.Build();
  }
  const std::vector<std::string>& parameters() const { return parameters_; }

 private:
  Expr Constant(const Dims& dims, float value, const std::string& name) {
    Tensor tensor(DType::kFloat32, dims);
    std::fill_n(tensor.mutable_data<float>(), tensor.num_elements(), value);
    return builder_.Constant(tensor, name);
  }
  // No two have the same values, which one constant would hold.
  Expr Weight(const Dims& dims) {
    parameters_.push_back(absl::StrCat("p", parameters_.size()));
    return Constant(dims, 0.01f * static_cast<float>(parameters_.size()), parameters_.back());
  }
  Expr Convolved(const Expr& x, int64_t channels, int64_t kernel, int64_t stride, int64_t groups) {
    const int64_t before = (*x.type().shape)[1].value(), pad = kernel / 2;
    const Expr convolved = Op("Conv", {x, Weight({channels, before / groups, kernel, kernel})},
                              {{"kernel_shape", std::vector<int64_t>{kernel, kernel}},
                               {"strides", std::vector<int64_t>{stride, stride}},
                               {"pads", std::vector<int64_t>{pad, pad, pad, pad}},
                               {"group", groups}});
    const Expr scale = Weight({channels}), bias = Weight({channels});
    return Op("BatchNormalization",
              {convolved, scale, bias, Constant({channels}, 0, absl::StrCat("mean", statistics_)),
               Constant({channels}, 1, absl::StrCat("variance", statistics_++))});
  }
  Expr Clipped(const Expr& x) {
    return Clip(x, builder_.Scalar(0, DType::kFloat32), builder_.Scalar(6, DType::kFloat32));
  }
  Expr Block(const Expr& x, int64_t expansion, int64_t channels, int64_t stride) {
    const int64_t before = (*x.type().shape)[1].value(), inside = before * expansion;
    Expr inner = expansion == 1 ? x : Clipped(Convolved(x, inside, 1, 1, 1));
    inner = Clipped(Convolved(inner, inside, 3, stride, inside));
    inner = Convolved(inner, channels, 1, 1, 1);
    return stride == 1 && before == channels ? x + inner : inner;
  }

  GraphBuilder builder_{"mobilenet_v2"};
  std::vector<std::string> parameters_;
  int statistics_ = 0;
};

TEST(MobileNetGradient, TakesAtMost700Nodes) {
  MobileNet net;
  auto model = net.Build();
  ASSERT_TRUE(model.ok()) << model.status();
  // 52 convolutions and normalizations, 35 bounds, 10 sums, a mean, a reshape and a layer.
  ASSERT_EQ(model->graph.node_ids().size(), 52u + 52u + 35u + 10u + 3u);
  GradientModelOptions options;
  options.of = {"y"};
  options.wrt = net.parameters();
  ASSERT_EQ(options.wrt.size(), 52u * 3 + 2);
  const auto names = MakeGradientModel(*model, options);
  ASSERT_TRUE(names.ok()) << names.status();
  EXPECT_EQ(names->outputs.size(), options.wrt.size());
  const size_t nodes = model->graph.node_ids().size();
  std::printf("%zu nodes\n", nodes);
  EXPECT_LE(nodes, 700u);
}

}  // namespace
}  // namespace onward::training
