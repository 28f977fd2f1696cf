// One graph of a training, and which of its inputs and outputs training has added.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <vector>

#include "onward/graph.h"

namespace onward::training {

// Outputs that are not state, those that the graph has. `Id` is ValueId while the graph is written,
// then the position among its outputs, which passes keep.
template <typename Id>
struct OutputsBy {
  std::optional<Id> loss;
  std::vector<Id> losses = {};         // of which `loss` is the sum, where there are several
  std::optional<Id> count;             // of targets that the loss is over; see LossParts
  std::optional<Id> prediction;        // where targets are classes, or 0 and 1
  std::optional<Id> scores;            // where a metric looks at them
  std::optional<Id> gradient_norm;     // of all gradients
  std::optional<Id> gradients_finite;  // where the loss is scaled
  // In the order of TrainingPhases::parameters.
  std::vector<Id> gradient_norms = {}, gradient_values = {};
  std::vector<Id> lbfgs_gradients = {};  // what LBFGS evaluates

  template <typename To, typename F>
  OutputsBy<To> Mapped(const F& to) const {
    const auto one = [&](const std::optional<Id>& id) {
      return id ? std::optional<To>(to(*id)) : std::nullopt;
    };
    const auto each = [&](const std::vector<Id>& ids) {
      std::vector<To> mapped;
      for (const Id& id : ids) mapped.push_back(to(id));
      return mapped;
    };
    return {one(loss),
            each(losses),
            one(count),
            one(prediction),
            one(scores),
            one(gradient_norm),
            one(gradients_finite),
            each(gradient_norms),
            each(gradient_values),
            each(lbfgs_gradients)};
  }
  std::vector<Id> All() const {
    std::vector<Id> all;
    Mapped<Id>([&](const Id& id) {
      all.push_back(id);
      return id;
    });
    return all;
  }
};
using StepOutputs = OutputsBy<size_t>;

// Inputs with defaults that the training sets and no data feed, in the same way.
template <typename Id>
struct InputsBy {
  std::optional<Id> loss_scale;      // float32
  std::optional<Id> average_weight;  // of the new weights in their average, float64
  std::optional<Id> batch_share;     // of the rank's rows in those of the batch, float64
  std::vector<Id> settings = {};     // of the optimizer, a parameter group each

  template <typename To, typename F>
  InputsBy<To> Mapped(const F& to) const {
    const auto one = [&](const std::optional<Id>& id) {
      return id ? std::optional<To>(to(*id)) : std::nullopt;
    };
    std::vector<To> mapped;
    for (const Id& id : settings) mapped.push_back(to(id));
    return {one(loss_scale), one(average_weight), one(batch_share), mapped};
  }
  std::set<Id> All() const {
    std::set<Id> all(settings.begin(), settings.end());
    for (const std::optional<Id>& id : {loss_scale, average_weight, batch_share})
      if (id) all.insert(*id);
    return all;
  }
};
using StepInputs = InputsBy<size_t>;

// The ids of a graph's parts, while it is written.
struct PhaseIds {
  OutputsBy<ValueId> outputs;
  InputsBy<ValueId> inputs;
};

struct Phase {
  Model model;
  StepOutputs outputs = {};
  StepInputs inputs = {};
};

}  // namespace onward::training
