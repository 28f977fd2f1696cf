// Finite differences for gradient graphs.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/ir/graph_edit.h"
#include "onward/gradient.h"
#include "onward/graph.h"
#include "onward/session.h"

namespace onward::training {

inline Tensor RandomDoubles(DimsView dims, unsigned seed, double low = -1, double high = 1) {
  Tensor tensor(DType::kFloat64, dims);
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> draw(low, high);
  for (int64_t i = 0; i < tensor.num_elements(); ++i)
    tensor.mutable_data<double>()[i] = draw(random);
  return tensor;
}

inline Session::Outputs RunModel(const Model& model, const Session::Inputs& inputs) {
  auto session = Session::Create(model);
  EXPECT_TRUE(session.ok()) << session.status();
  if (!session.ok()) return {};
  auto outputs = (*session)->Run(inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return outputs.ok() ? *std::move(outputs) : Session::Outputs();
}

// Checks the gradients of sum_y <y, weights_y> over all float64 outputs y with respect to every
// float64 input that is given, against central differences; the weights are drawn. Inputs without
// elements that are given are left alone.
inline void ExpectFiniteDifferences(const Model& forward, const Session::Inputs& inputs,
                                    double tolerance = 2e-6) {
  auto session = Session::Create(forward);
  ASSERT_TRUE(session.ok()) << session.status();
  const auto first = (*session)->Run(inputs);
  ASSERT_TRUE(first.ok()) << first.status();
  Model model = forward;
  std::map<std::string, Tensor> weights;
  std::vector<GradientTarget> targets;
  Session::Inputs all = inputs;
  unsigned seed = 99;
  for (const ValueId id : std::vector<ValueId>(model.graph.outputs())) {
    const std::string name = model.graph.value(id).name;
    const Type type = model.graph.type(id);
    if (!type.is_tensor() || type.dtype != DType::kFloat64) continue;
    weights[name] = RandomDoubles(first->at(name).tensor().dims(), seed++);
    const ValueId cotangent =
        GraphEdit(model.graph).AddInput(absl::StrCat("cotangent/", name), type);
    all[absl::StrCat("cotangent/", name)] = Value(weights[name]);
    targets.push_back({id, cotangent});
  }
  std::vector<ValueId> wrt;
  for (const auto& [name, value] : inputs) {
    const ValueId id = model.graph.FindValue(name);
    ASSERT_TRUE(id.valid()) << name;
    if (model.graph.type(id).is_tensor() && model.graph.type(id).dtype == DType::kFloat64)
      wrt.push_back(id);
  }
  const auto gradients = AddGradients(model.graph, targets, wrt);
  ASSERT_TRUE(gradients.ok()) << gradients.status();
  for (const ValueId id : *gradients) {
    if (!model.graph.is_output(id)) GraphEdit(model.graph).AddOutput(id);
  }
  const Session::Outputs outputs = RunModel(model, all);
  ASSERT_FALSE(outputs.empty());
  const auto loss = [&](const Session::Inputs& at) {
    const auto results = (*session)->Run(at);
    EXPECT_TRUE(results.ok()) << results.status();
    double sum = 0;
    for (const auto& [name, weight] : weights) {
      const Tensor& y = results->at(name).tensor();
      for (int64_t i = 0; i < y.num_elements(); ++i)
        sum += y.data<double>()[i] * weight.data<double>()[i];
    }
    return sum;
  };
  constexpr double kStep = 1e-5;
  for (size_t i = 0; i < wrt.size(); ++i) {
    const std::string name = model.graph.value(wrt[i]).name;
    const Tensor& gradient = outputs.at(model.graph.value((*gradients)[i]).name).tensor();
    ASSERT_EQ(gradient.dims(), inputs.at(name).tensor().dims()) << name;
    for (int64_t e = 0; e < gradient.num_elements(); ++e) {
      Session::Inputs up = inputs, down = inputs;
      Tensor above = inputs.at(name).tensor().Clone(), below = inputs.at(name).tensor().Clone();
      above.mutable_data<double>()[e] += kStep;
      below.mutable_data<double>()[e] -= kStep;
      up[name] = Value(above);
      down[name] = Value(below);
      const double expected = (loss(up) - loss(down)) / (2 * kStep);
      EXPECT_NEAR(gradient.data<double>()[e], expected, tolerance * (1 + std::fabs(expected)))
          << "input " << name << " element " << e;
    }
  }
}

}  // namespace onward::training
