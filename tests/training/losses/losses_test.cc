// Values and gradients of losses are PyTorch's (make_cases.py), in double.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "files/npy.h"
#include "graph/ir/graph_edit.h"
#include "onward/functions.h"
#include "onward/gradient.h"
#include "onward/session.h"
#include "training/losses/loss.h"

namespace onward::training {
namespace {

using loss::ClassOptions;
using loss::Reduction;
using Arguments = std::vector<Expr>;
using Function = std::function<Expr(const Arguments&)>;

Expr CtcOf(const Arguments& a, const loss::CtcOptions& options) {
  return loss::Ctc(LogSoftmax(a[0], 2), a[1], a[2], a[3], options);
}

ClassOptions Weighted(const Expr& weight, double smoothing = 0,
                      Reduction reduction = Reduction::kMean) {
  return {weight, -100, smoothing, reduction};
}

const std::map<std::string, Function>& Losses() {
  static const auto* losses = new std::map<std::string, Function>{
      {"cross_entropy", [](const Arguments& a) { return loss::CrossEntropy(a[0], a[1]); }},
      {"cross_entropy_sum",
       [](const Arguments& a) {
         return loss::CrossEntropy(a[0], a[1], Weighted({}, 0, Reduction::kSum));
       }},
      {"cross_entropy_none",
       [](const Arguments& a) {
         return loss::CrossEntropy(a[0], a[1], Weighted({}, 0, Reduction::kNone));
       }},
      {"cross_entropy_one", [](const Arguments& a) { return loss::CrossEntropy(a[0], a[1]); }},
      {"cross_entropy_ignore", [](const Arguments& a) { return loss::CrossEntropy(a[0], a[1]); }},
      {"cross_entropy_weight",
       [](const Arguments& a) { return loss::CrossEntropy(a[0], a[1], Weighted(a[2])); }},
      {"cross_entropy_smooth",
       [](const Arguments& a) { return loss::CrossEntropy(a[0], a[1], Weighted({}, 0.1)); }},
      {"cross_entropy_smooth_weight",
       [](const Arguments& a) { return loss::CrossEntropy(a[0], a[1], Weighted(a[2], 0.2)); }},
      {"cross_entropy_image",
       [](const Arguments& a) { return loss::CrossEntropy(a[0], a[1], Weighted(a[2], 0.2)); }},
      {"cross_entropy_probabilities",
       [](const Arguments& a) { return loss::CrossEntropy(a[0], a[1]); }},
      {"cross_entropy_probabilities_smooth",
       [](const Arguments& a) { return loss::CrossEntropy(a[0], a[1], Weighted(a[2], 0.3)); }},
      {"nll", [](const Arguments& a) { return loss::NegativeLogLikelihood(a[0], a[1]); }},
      {"nll_weight_none",
       [](const Arguments& a) {
         return loss::NegativeLogLikelihood(a[0], a[1], Weighted(a[2], 0, Reduction::kNone));
       }},
      {"bce", [](const Arguments& a) { return loss::BinaryCrossEntropy(a[0], a[1]); }},
      {"bce_bounds", [](const Arguments& a) { return loss::BinaryCrossEntropy(a[0], a[1]); }},
      {"bce_weight",
       [](const Arguments& a) {
         return loss::BinaryCrossEntropy(a[0], a[1], a[2], Reduction::kSum);
       }},
      {"bce_logits",
       [](const Arguments& a) { return loss::BinaryCrossEntropyWithLogits(a[0], a[1]); }},
      {"bce_logits_weights",
       [](const Arguments& a) {
         return loss::BinaryCrossEntropyWithLogits(a[0], a[1], a[2], a[3]);
       }},
      {"mse", [](const Arguments& a) { return loss::MeanSquaredError(a[0], a[1]); }},
      {"l1", [](const Arguments& a) { return loss::L1(a[0], a[1], Reduction::kSum); }},
      {"huber", [](const Arguments& a) { return loss::Huber(a[0], a[1], 0.7); }},
      {"smooth_l1", [](const Arguments& a) { return loss::SmoothL1(a[0], a[1], 0.6); }},
      {"smooth_l1_zero", [](const Arguments& a) { return loss::SmoothL1(a[0], a[1], 0); }},
      {"kl", [](const Arguments& a) { return loss::KullbackLeibler(a[0], a[1]); }},
      {"kl_log",
       [](const Arguments& a) {
         return loss::KullbackLeibler(a[0], a[1], true, false, Reduction::kSum);
       }},
      {"kl_batch",
       [](const Arguments& a) { return loss::KullbackLeibler(a[0], a[1], false, true); }},
      {"poisson",
       [](const Arguments& a) { return loss::PoissonNegativeLogLikelihood(a[0], a[1]); }},
      {"poisson_linear",
       [](const Arguments& a) { return loss::PoissonNegativeLogLikelihood(a[0], a[1], false); }},
      {"gaussian",
       [](const Arguments& a) { return loss::GaussianNegativeLogLikelihood(a[0], a[1], a[2]); }},
      {"cosine_embedding",
       [](const Arguments& a) { return loss::CosineEmbedding(a[0], a[1], a[2], 0.1); }},
      {"triplet", [](const Arguments& a) { return loss::TripletMargin(a[0], a[1], a[2]); }},
      {"triplet_swap",
       [](const Arguments& a) {
         return loss::TripletMargin(a[0], a[1], a[2], 0.5, 1e-6, true, Reduction::kNone);
       }},
      {"hinge", [](const Arguments& a) { return loss::HingeEmbedding(a[0], a[1], 0.8); }},
      {"margin_ranking",
       [](const Arguments& a) { return loss::MarginRanking(a[0], a[1], a[2], 0.2); }},
      {"ctc", [](const Arguments& a) { return CtcOf(a, {}); }},
      {"ctc_sum",
       [](const Arguments& a) {
         return CtcOf(a, {4, false, Reduction::kSum});
       }},
      {"ctc_row",
       [](const Arguments& a) {
         return CtcOf(a, {0, false, Reduction::kNone});
       }},
      {"ctc_long", [](const Arguments& a) { return CtcOf(a, {}); }},
      {"ctc_impossible",
       [](const Arguments& a) {
         return CtcOf(a, {0, true});
       }},
      {"ctc_infinite",
       [](const Arguments& a) {
         return CtcOf(a, {0, false, Reduction::kNone});
       }},
      {"poisson_full",
       [](const Arguments& a) {
         return loss::PoissonNegativeLogLikelihood(a[0], a[1], true, 1e-8, Reduction::kMean, true);
       }},
      {"gaussian_full",
       [](const Arguments& a) {
         return loss::GaussianNegativeLogLikelihood(a[0], a[1], a[2], 1e-6, Reduction::kSum, true);
       }},
      {"triplet_distance",
       [](const Arguments& a) {
         const auto manhattan = [](const Expr& x, const Expr& y) {
           return ReduceSum(Abs(x - y), {-1}, false);
         };
         return loss::TripletMarginWithDistance(a[0], a[1], a[2], manhattan, 0.7, true);
       }},
      {"multi_margin", [](const Arguments& a) { return loss::MultiMargin(a[0], a[1]); }},
      {"multi_margin_square",
       [](const Arguments& a) {
         return loss::MultiMargin(a[0], a[1], 2, 0.6, a[2], Reduction::kNone);
       }},
      {"multi_label_margin", [](const Arguments& a) { return loss::MultiLabelMargin(a[0], a[1]); }},
      {"multi_label_margin_none",
       [](const Arguments& a) { return loss::MultiLabelMargin(a[0], a[1], Reduction::kNone); }},
      {"multi_label_soft_margin",
       [](const Arguments& a) { return loss::MultiLabelSoftMargin(a[0], a[1]); }},
      {"multi_label_soft_margin_weight",
       [](const Arguments& a) {
         return loss::MultiLabelSoftMargin(a[0], a[1], a[2], Reduction::kSum);
       }},
      {"soft_margin", [](const Arguments& a) { return loss::SoftMargin(a[0], a[1]); }},
  };
  return *losses;
}

void ExpectClose(const Tensor& got, const Tensor& want, const std::string& what) {
  ASSERT_EQ(got.dims(), want.dims()) << what;
  for (int64_t i = 0; i < want.num_elements(); ++i) {
    const double a = got.data<double>()[i], b = want.data<double>()[i];
    if (a == b) continue;  // infinities
    EXPECT_NEAR(a, b, 1e-10 * std::max(1.0, std::fabs(b))) << what << ", element " << i;
  }
}

class LossTest : public testing::TestWithParam<std::string> {};

void ExpectPyTorchs(const std::string& name, bool allow_onward_ops) {
  const std::string path = ONWARD_SOURCE_DIR "/tests/training/losses/cases/" + name + ".npz";
  const auto data = files::ReadNpz(path);
  ASSERT_TRUE(data.ok()) << data.status();
  Model model;
  model.opsets[""] = 28;
  GraphSink sink(model.graph);
  Arguments arguments;
  std::vector<ValueId> differentiated;
  Session::Inputs inputs;
  for (int i = 0; data->contains("argument" + std::to_string(i)); ++i) {
    const std::string argument = "argument" + std::to_string(i);
    const Tensor& value = data->at(argument);
    const Dims dims(value.dims().begin(), value.dims().end());
    arguments.push_back(
        sink.Value(GraphEdit(model.graph).AddInput(argument, Type::Tensor(value.dtype(), dims))));
    inputs[argument] = value;
    if (data->contains("gradient" + std::to_string(i))) differentiated.push_back(arguments[i].id());
  }
  const Expr value = Losses().at(name)(arguments);
  ASSERT_TRUE(sink.status().ok()) << sink.status();
  GraphEdit(model.graph).AddOutput(value.id());
  const Expr sum = ReduceSum(value, {}, false);
  GradientOptions options;
  options.allow_onward_ops = allow_onward_ops;
  const auto gradients = AddGradients(model.graph, sum.id(), differentiated, options);
  ASSERT_TRUE(gradients.ok()) << gradients.status();
  for (const ValueId id : *gradients) GraphEdit(model.graph).AddOutput(id);
  std::vector<std::string> names;
  for (const ValueId id : model.graph.outputs()) names.push_back(model.graph.value(id).name);
  auto session = Session::Create(std::move(model));
  ASSERT_TRUE(session.ok()) << session.status();
  const auto outputs = (*session)->Run(inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  ExpectClose(outputs->at(names[0]).tensor(), data->at("loss"), "loss");
  for (size_t i = 0; i < differentiated.size(); ++i) {
    ExpectClose(outputs->at(names[i + 1]).tensor(), data->at("gradient" + std::to_string(i)),
                "gradient " + std::to_string(i));
  }
}

TEST_P(LossTest, IsPyTorchs) { ExpectPyTorchs(GetParam(), false); }
TEST_P(LossTest, IsPyTorchsInOpsOfTraining) { ExpectPyTorchs(GetParam(), true); }

// Two targets of at most two labels of three classes, over four frames.
std::string CtcError(std::vector<int64_t> labels, std::vector<int64_t> frames,
                     std::vector<int64_t> lengths) {
  Model model;
  model.opsets[""] = 28;
  GraphSink sink(model.graph);
  const auto input = [&](const char* name, DType dtype, const Dims& dims) {
    return sink.Value(GraphEdit(model.graph).AddInput(name, Type::Tensor(dtype, dims)));
  };
  const bool in_a_row = labels.size() != 4;
  const Dims dims = in_a_row ? Dims{static_cast<int64_t>(labels.size())} : Dims{2, 2};
  const Expr loss =
      loss::Ctc(input("logs", DType::kFloat32, {4, 2, 3}), input("labels", DType::kInt64, dims),
                input("frames", DType::kInt64, {2}), input("lengths", DType::kInt64, {2}), {});
  GraphEdit(model.graph).AddOutput(loss.id());
  auto session = Session::Create(std::move(model));
  if (!session.ok()) return std::string(session.status().message());
  Tensor logs(DType::kFloat32, {4, 2, 3});
  std::fill_n(logs.mutable_data<float>(), 24, -1.0f);
  return std::string((*session)
                         ->Run({{"logs", logs},
                                {"labels", Tensor::Of<int64_t>(dims, labels)},
                                {"frames", Tensor::Of<int64_t>({2}, frames)},
                                {"lengths", Tensor::Of<int64_t>({2}, lengths)}})
                         .status()
                         .message());
}

TEST(Ctc, RefusesWhatIsOutOfRange) {
  using ::testing::HasSubstr;
  EXPECT_EQ(CtcError({1, 2, 1, 9}, {4, 3}, {2, 1}), "");  // 9 is beyond its target's length
  EXPECT_EQ(CtcError({1, 2, 1}, {4, 0}, {2, 1}), "");
  EXPECT_THAT(CtcError({1, 3, 1, 2}, {4, 4}, {2, 2}), HasSubstr("index 3"));
  EXPECT_THAT(CtcError({1, -1, 1, 2}, {4, 4}, {2, 2}), HasSubstr("out of range"));
  EXPECT_THAT(CtcError({1, 2, 1, 2}, {5, 4}, {2, 2}), HasSubstr("index 5"));
  EXPECT_THAT(CtcError({1, 2, 1, 2}, {-1, 4}, {2, 2}), HasSubstr("out of range"));
  EXPECT_THAT(CtcError({1, 2, 1, 2}, {4, 4}, {3, 2}), HasSubstr("index 3"));
  EXPECT_THAT(CtcError({1, 2, 1}, {4, 4}, {2, 2}), HasSubstr("index 4"));
  EXPECT_THAT(CtcError({1, 2, 1}, {4, 4}, {-2, 2}), HasSubstr("out of range"));
}

// Scores, of which the gradient takes the place, are the only memory of their size.
TEST(CrossEntropy, KeepsNoProbabilities) {
  constexpr int64_t kLabels = 64, kClasses = 5000, kFeatures = 8;
  Model model;
  model.opsets[""] = 28;
  GraphSink sink(model.graph);
  const auto input = [&](const char* name, DType dtype, const Dims& dims) {
    return sink.Value(GraphEdit(model.graph).AddInput(name, Type::Tensor(dtype, dims)));
  };
  const Expr x = input("x", DType::kFloat32, {kLabels, kFeatures});
  const Expr w = input("w", DType::kFloat32, {kFeatures, kClasses});
  const Expr labels = input("labels", DType::kInt64, {kLabels});
  const Expr loss = loss::CrossEntropy(MatMul(x, w), labels);
  GradientOptions options;
  options.allow_onward_ops = true;
  const auto gradients = AddGradients(model.graph, loss.id(), {w.id()}, options);
  ASSERT_TRUE(gradients.ok()) << gradients.status();
  GraphEdit(model.graph).AddOutput((*gradients)[0]);
  auto session = Session::Create(std::move(model));
  ASSERT_TRUE(session.ok()) << session.status();
  const auto bytes =
      (*session)->PlannedBytes({{"x", Tensor(DType::kFloat32, {kLabels, kFeatures})},
                                {"w", Tensor(DType::kFloat32, {kFeatures, kClasses})},
                                {"labels", Tensor(DType::kInt64, {kLabels})}});
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  const int64_t scores = kLabels * kClasses * 4, gradient = kFeatures * kClasses * 4;
  EXPECT_LT(*bytes, scores + 2 * gradient);
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const auto& [name, function] : Losses()) names.push_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Losses, LossTest, testing::ValuesIn(Names()),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace onward::training
