// Steps that follow each other: state goes from one to the next, settings change between them.
#include "training/step/training_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "graph/ir/graph_edit.h"
#include "onward/functions.h"
#include "onward/gradient.h"
#include "tests/support/allocations.h"
#include "training/optimizers/optimizer.h"
#include "training/rewrite/clip.h"

namespace onward::training {
namespace {

using ::testing::HasSubstr;

Tensor Doubles(const std::vector<double>& values) {
  Tensor tensor(DType::kFloat64, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor.mutable_data<double>());
  return tensor;
}

double First(const Tensor& tensor) { return tensor.data<double>()[0]; }

// loss = sum((w * x - t)^2) over two elements, trained by SGD with momentum 0.5 and rate 0.1; the
// gradient is bounded by `clip` (0: not).
absl::StatusOr<std::unique_ptr<TrainingSession>> Line(double clip = 0) {
  Model model;
  model.opsets[""] = 28;
  Graph& graph = model.graph;
  GraphSink sink(graph);
  const Type pair = Type::Tensor(DType::kFloat64, Dims{2});
  const Expr x = sink.Value(GraphEdit(graph).AddInput("x", pair)),
             t = sink.Value(GraphEdit(graph).AddInput("t", pair));
  const ValueId w = GraphEdit(graph).AddConstant("w", Doubles({2, -1}));
  const Expr error = sink.Value(w) * x - t;
  const Expr loss = ReduceSum(error * error, {}, false);
  GraphEdit(graph).Rename(loss.id(), "loss");
  GraphEdit(graph).AddOutput(loss.id());
  auto gradients = AddGradients(graph, loss.id(), {w});
  if (!gradients.ok()) return gradients.status();
  if (clip > 0) {
    const ClippedGradients clipped = ClipByGlobalNorm({sink.Value((*gradients)[0])}, clip);
    GraphEdit(graph).Rename(clipped.norm.id(), "norm");
    GraphEdit(graph).AddOutput(clipped.norm.id());
    (*gradients)[0] = clipped.gradients[0].id();
  }
  const auto settings = AddOptimizer(model, {"SGD", {{"lr", 0.1}, {"momentum", 0.5}}},
                                     {ParameterGroup{"", {w}, *gradients, {}}});
  if (!settings.ok()) return settings.status();
  return TrainingSession::Create(std::move(model));
}

const Session::Inputs kFed = {{"x", Doubles({1, 3})}, {"t", Doubles({0, 0.5})}};

TEST(TrainingSession, StateGoesFromStepToStep) {
  auto session = Line();
  ASSERT_TRUE(session.ok()) << session.status();
  double w[2] = {2, -1}, buffer[2] = {0, 0};
  const double x[2] = {1, 3}, t[2] = {0, 0.5};
  double rate = 0.1;
  for (int step = 1; step <= 6; ++step) {
    if (step == 4) {
      // A schedule at work: rate, momentum, dampening, weight_decay.
      rate = 0.02;
      ASSERT_TRUE((*session)->Set("optimizer/settings", Doubles({rate, 0.5, 0, 0})).ok());
    }
    double loss = 0;
    for (int i = 0; i < 2; ++i) {
      const double error = w[i] * x[i] - t[i], gradient = 2 * error * x[i];
      loss += error * error;
      buffer[i] = step == 1 ? gradient : 0.5 * buffer[i] + gradient;
      w[i] -= rate * buffer[i];
    }
    const auto outputs = (*session)->Step(kFed);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_EQ(outputs->size(), 1u);
    EXPECT_NEAR(First(outputs->at("loss").tensor()), loss, 1e-9 * std::max(1.0, loss));
    const auto state = (*session)->State("w");
    ASSERT_TRUE(state.ok());
    for (int i = 0; i < 2; ++i)
      EXPECT_NEAR(state->data<double>()[i], w[i], 1e-9 * std::max(1.0, std::fabs(w[i]))) << step;
  }
  const auto count = (*session)->State("optimizer/step");
  ASSERT_TRUE(count.ok());
  EXPECT_EQ(count->data<int64_t>()[0], 7);
  EXPECT_THAT((*session)->state_names(),
              ::testing::UnorderedElementsAre("w", "optimizer/step", "optimizer/w/momentum"));
}

TEST(TrainingSession, GoesOnFromSavedState) {
  auto first = Line(), second = Line();
  ASSERT_TRUE(first.ok() && second.ok());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE((*first)->Step(kFed).ok());
  for (const std::string& name : (*first)->state_names())
    ASSERT_TRUE((*second)->Set(name, *(*first)->State(name)).ok());
  for (int i = 0; i < 3; ++i) {
    const auto a = (*first)->Step(kFed), b = (*second)->Step(kFed);
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_EQ(First(a->at("loss").tensor()), First(b->at("loss").tensor()));
  }
}

// Only so can the first step write in place: nothing keeps what the state was at the start.
TEST(TrainingSession, StateIsHeldOnce) {
  auto session = Line();
  ASSERT_TRUE(session.ok()) << session.status();
  for (int i = 0; i < 3; ++i) {
    for (const std::string& name : (*session)->state_names()) {
      std::weak_ptr<const void> memory = (*session)->State(name)->buffer();
      EXPECT_EQ(memory.use_count(), 1) << name << ", after step " << i;
    }
    ASSERT_TRUE((*session)->Step(kFed).ok());
  }
}

TEST(TrainingSession, StepsAllocateNothing) {
  if (!testing::kCountsAllocations) GTEST_SKIP() << "the sanitizer has its own malloc";
  auto session = Line();
  ASSERT_TRUE(session.ok()) << session.status();
  TrainingSession::Outputs outputs;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE((*session)->Step(kFed, outputs).ok());
  const double loss = First(outputs[0].tensor());
  const int64_t before = testing::Allocations();
  bool ok = true;
  for (int i = 0; i < 50; ++i) ok &= (*session)->Step(kFed, outputs).ok();
  EXPECT_EQ(testing::Allocations() - before, 0);
  EXPECT_TRUE(ok);
  EXPECT_LT(First(outputs[0].tensor()), loss);
}

TEST(TrainingSession, AGradientIsBoundedByItsNorm) {
  auto session = Line(0.5);
  ASSERT_TRUE(session.ok()) << session.status();
  // The gradient is (4, -21).
  const double norm = std::sqrt(4.0 * 4 + 21 * 21), factor = 0.5 / (norm + 1e-6);
  const auto outputs = (*session)->Step(kFed);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_NEAR(First(outputs->at("norm").tensor()), norm, 1e-12 * norm);
  const auto w = (*session)->State("w");
  EXPECT_NEAR(w->data<double>()[0], 2 - 0.1 * factor * 4, 1e-12);
  EXPECT_NEAR(w->data<double>()[1], -1 + 0.1 * factor * 21, 1e-12);
}

TEST(TrainingSession, AFailedStepChangesNothing) {
  auto session = Line();
  ASSERT_TRUE(session.ok());
  ASSERT_TRUE((*session)->Step(kFed).ok());
  const Tensor before = *(*session)->State("w");
  EXPECT_FALSE((*session)->Step({{"x", Doubles({1, 2, 3})}, {"t", Doubles({0, 0})}}).ok());
  EXPECT_FALSE((*session)->Step({{"x", Doubles({1, 2})}}).ok());
  const auto unknown = (*session)->Step({{"y", Doubles({1, 2})}});
  EXPECT_THAT(std::string(unknown.status().message()), HasSubstr("no input 'y'"));
  EXPECT_EQ(First(*(*session)->State("w")), First(before));
  EXPECT_TRUE((*session)->Step(kFed).ok());
}

// w = 3 * [1, 2] before the first step.
TEST(TrainingSession, AnInitializationGraphSetsWhatItIsBoundTo) {
  auto session = Line();
  ASSERT_TRUE(session.ok()) << session.status();
  TrainingInitialization initialization;
  initialization.model.opsets[""] = 28;
  Graph& graph = initialization.model.graph;
  GraphSink sink(graph);
  const Expr first = sink.Constant(Doubles({1, 2})) * 3.0;
  GraphEdit(graph).Rename(first.id(), "first");
  GraphEdit(graph).AddOutput(first.id());
  initialization.bindings = {{"w", "first"}};
  ASSERT_TRUE((*session)->Initialize(initialization).ok());
  EXPECT_THAT((*(*session)->State("w")).span<double>(), ::testing::ElementsAre(3, 6));
  const auto outputs = (*session)->Step(kFed);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_DOUBLE_EQ(First(outputs->at("loss").tensor()), 9 + 17.5 * 17.5);
  initialization.bindings = {{"v", "first"}};
  EXPECT_THAT(std::string((*session)->Initialize(initialization).message()),
              HasSubstr("the initialization graph: the step has no input 'v'"));
}

TEST(TrainingSession, SetChecksWhatItIsGiven) {
  auto session = Line();
  ASSERT_TRUE(session.ok());
  EXPECT_THAT(std::string((*session)->Set("w", Doubles({1})).message()),
              HasSubstr("'w' is float64[2], got float64[1]"));
  EXPECT_THAT(std::string((*session)->Set("v", Doubles({1})).message()), HasSubstr("no input 'v'"));
  EXPECT_FALSE((*session)->State("loss").ok());
}

// Each gradient by itself, the largest element as the norm, and elements.
TEST(Clip, BoundsNormsAndElements) {
  Model model;
  model.opsets[""] = 28;
  GraphSink sink(model.graph);
  const Expr a = sink.Value(GraphEdit(model.graph).AddConstant("a", Doubles({3, -4}))),
             b = sink.Value(GraphEdit(model.graph).AddConstant("b", Doubles({0.1, 0})));
  std::vector<Expr> results = ClipEachByNorm({a, b}, 1);
  const ClippedGradients largest =
      ClipByGlobalNorm({a, b}, 2, std::numeric_limits<double>::infinity());
  results.insert(results.end(), largest.gradients.begin(), largest.gradients.end());
  for (const Expr& each : ClipByValue({a, b}, 3.5)) results.push_back(each);
  ASSERT_TRUE(sink.status().ok()) << sink.status();
  std::vector<std::string> names;
  for (const Expr& each : results) {
    GraphEdit(model.graph).AddOutput(each.id());
    names.push_back(model.graph.value(each.id()).name);
  }
  auto session = Session::Create(std::move(model));
  ASSERT_TRUE(session.ok()) << session.status();
  const auto outputs = (*session)->Run({});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  const double each = 1 / (5 + 1e-6), all = 2 / (4 + 1e-6);
  const std::vector<std::vector<double>> want = {
      {3 * each, -4 * each}, {0.1, 0}, {3 * all, -4 * all}, {0.1 * all, 0}, {3, -3.5}, {0.1, 0}};
  for (size_t i = 0; i < want.size(); ++i) {
    for (size_t j = 0; j < 2; ++j)
      EXPECT_NEAR(outputs->at(names[i]).tensor().data<double>()[j], want[i][j], 1e-12)
          << i << ", " << j;
  }
}

}  // namespace
}  // namespace onward::training
