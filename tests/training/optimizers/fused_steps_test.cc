// Steps of LAMB, Adafactor and Muon as one op a parameter are those of their formulas in standard
// ops (which optimizers_test holds beside PyTorch), for shapes that are cut in every way; and the
// same bits for any number of threads.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "graph/ir/graph_edit.h"
#include "onward/shape.h"
#include "training/optimizers/optimizer.h"
#include "training/step/training_session.h"

namespace onward::training {
namespace {

Tensor Random(DType dtype, DimsView dims, uint32_t seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal;
  Tensor tensor(dtype, dims);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    const double value = normal(engine);
    if (dtype == DType::kFloat64)
      tensor.mutable_data<double>()[i] = value;
    else
      tensor.mutable_data<float>()[i] = static_cast<float>(value);
  }
  return tensor;
}

double At(const Tensor& tensor, int64_t i) {
  return tensor.dtype() == DType::kFloat64 ? tensor.data<double>()[i]
                                           : static_cast<double>(tensor.data<float>()[i]);
}

struct Training {
  OptimizerConfig config;
  DType dtype = DType::kFloat32;
  int threads = 1;
  Precision precision = Precision::kDefault;
};

// All of the state after three steps.
std::map<std::string, Tensor> Train(const Training& run, DimsView dims) {
  Model model;
  model.opsets[""] = 28;
  ParameterGroup group;
  group.parameters.push_back(GraphEdit(model.graph).AddConstant("p", Random(run.dtype, dims, 1)));
  group.gradients.push_back(
      GraphEdit(model.graph)
          .AddInput("g", Type::Tensor(run.dtype, Dims(dims.begin(), dims.end()))));
  const auto added = AddOptimizer(model, run.config, {group});
  EXPECT_TRUE(added.ok()) << added.status();
  SessionOptions options;
  options.num_threads = run.threads;
  options.precision = run.precision;
  auto session = TrainingSession::Create(std::move(model), options);
  EXPECT_TRUE(session.ok()) << session.status();
  std::map<std::string, Tensor> states;
  for (uint32_t step = 0; step < 3; ++step) {
    const auto outputs = (*session)->Step({{"g", Random(run.dtype, dims, 2 + step)}});
    EXPECT_TRUE(outputs.ok()) << outputs.status();
  }
  for (const std::string& name : (*session)->state_names()) states[name] = *(*session)->State(name);
  return states;
}

// Relative to the largest element.
double Distance(const Tensor& got, const Tensor& want) {
  double worst = 0, largest = 1e-3;
  EXPECT_EQ(got.dims(), want.dims());
  for (int64_t i = 0; i < want.num_elements(); ++i) {
    const double a = At(got, i), b = At(want, i);
    if (std::isnan(a) != std::isnan(b)) return INFINITY;
    if (std::isnan(a)) continue;
    worst = std::max(worst, std::fabs(a - b));
    largest = std::max(largest, std::fabs(b));
  }
  return worst / largest;
}

void Compare(const char* optimizer, const std::map<std::string, double>& options,
             const std::vector<Dims>& shapes, double float_tolerance) {
  for (const Dims& dims : shapes) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
      SCOPED_TRACE(std::string(optimizer) + " " + std::string(DTypeName(dtype)) + " " +
                   DimsString(dims));
      Training run = {{optimizer, options}, dtype};
      const auto fused = Train(run, dims);
      run.threads = 3;
      const auto threads = Train(run, dims);
      run.config.portable = true;
      const auto formula = Train(run, dims);
      ASSERT_EQ(fused.size(), formula.size());
      for (const auto& [name, want] : formula) {
        if (want.dtype() != dtype) continue;
        EXPECT_LT(Distance(fused.at(name), want),
                  dtype == DType::kFloat64 ? 1e-12 : float_tolerance)
            << name;
        EXPECT_TRUE(SameBits(fused.at(name), threads.at(name))) << name;
      }
    }
  }
}

TEST(FusedSteps, LambIsItsFormula) {
  Compare("LAMB", {{"lr", 0.01}, {"weight_decay", 0.1}},
          {{}, {1}, {0}, {0, 3}, {511}, {513}, {3, 4, 5}, {8192}, {8193}, {130, 1000}}, 1e-5);
  Compare("LAMB", {{"lr", 0.01}, {"maximize", 1}}, {{7, 9}}, 1e-5);
}

TEST(FusedSteps, AdafactorIsItsFormula) {
  Compare("Adafactor", {{"lr", 0.1}, {"weight_decay", 0.1}},
          {{},           {1},          {0},        {8193},      {0, 3},         {3, 0},
           {1, 1},       {16, 16},     {1, 300},   {300, 1},    {5000, 3},      {3, 5000},
           {130, 70},    {65, 2049},   {40, 3, 3}, {5, 16, 17}, {3, 2, 70, 30}, {2, 3, 5000},
           {1000, 1, 1}, {9, 7, 1, 2}, {0, 2, 2}},
          1e-5);
  Compare("Adafactor", {{"lr", 0.1}, {"maximize", 1}, {"eps1", 0}, {"d", 3}}, {{7, 9}, {70, 90}},
          1e-5);
}

TEST(FusedSteps, MuonIsItsFormula) {
  Compare("Muon", {{"lr", 0.02}},
          {{1, 1}, {1, 9}, {9, 1}, {0, 3}, {3, 0}, {7, 8}, {100, 260}, {260, 100}, {530, 530}},
          1e-5);
  Compare("Muon", {{"lr", 0.02}, {"nesterov", 0}, {"maximize", 1}}, {{33, 65}}, 1e-5);
}

TEST(FusedSteps, MuonOfPairsIsClose) {
  Training run = {{"Muon", {{"lr", 0.02}, {"weight_decay", 0}}}};
  for (const Dims& dims : {Dims{40, 60}, Dims{300, 200}}) {
    run.precision = Precision::kDefault;
    const auto exact = Train(run, dims);
    run.precision = Precision::kFast;
    EXPECT_LT(Distance(Train(run, dims).at("p"), exact.at("p")), 5e-3) << DimsString(dims);
  }
}

}  // namespace
}  // namespace onward::training
