// Each optimizer's trajectory of 20 steps is PyTorch's (make_cases.py): as one op a parameter and
// as standard ops, in double and in float32.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "files/npy.h"
#include "graph/ir/graph_edit.h"
#include "graph/passes/pass.h"
#include "onward/export.h"
#include "onward/import.h"
#include "training/optimizers/optimizer.h"
#include "training/step/training_session.h"

namespace onward::training {
namespace {

const std::string kFolder = ONWARD_SOURCE_DIR "/tests/training/optimizers/cases/";

struct Case {
  std::string name;
  OptimizerConfig config;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  std::ifstream file(kFolder + "cases.txt");
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    Case each;
    words >> each.name >> each.config.name;
    for (std::string word; words >> word;) {
      const size_t equals = word.find('=');
      each.config.options[word.substr(0, equals)] = std::stod(word.substr(equals + 1));
    }
    cases.push_back(each);
  }
  return cases;
}

Tensor ToFloat(const Tensor& from) {
  Tensor to(DType::kFloat32, from.dims());
  for (int64_t i = 0; i < from.num_elements(); ++i)
    to.mutable_data<float>()[i] = static_cast<float>(from.data<double>()[i]);
  return to;
}

// Row `step` of a tensor of doubles, in `dtype`.
Tensor Row(const Tensor& all, int64_t step, DType dtype) {
  Tensor row(DType::kFloat64, Dims(all.dims().begin() + 1, all.dims().end()));
  std::copy_n(all.data<double>() + step * row.num_elements(), row.num_elements(),
              row.mutable_data<double>());
  return dtype == DType::kFloat64 ? row : ToFloat(row);
}

// A model of two parameters whose gradients are inputs.
absl::StatusOr<Model> StepModel(const std::map<std::string, Tensor>& data, DType dtype,
                                const OptimizerConfig& config) {
  Model model;
  model.opsets[""] = 28;
  model.ir_version = 13;
  model.graph.name = "step";
  ParameterGroup group;
  for (const char* index : {"0", "1"}) {
    const Tensor& start = data.at(std::string("start") + index);
    group.parameters.push_back(GraphEdit(model.graph)
                                   .AddConstant(std::string("p") + index,
                                                dtype == DType::kFloat64 ? start : ToFloat(start)));
    const Dims dims(start.dims().begin(), start.dims().end());
    group.gradients.push_back(
        GraphEdit(model.graph).AddInput(std::string("g") + index, Type::Tensor(dtype, dims)));
  }
  const auto added = AddOptimizer(model, config, {group});
  if (!added.ok()) return added.status();
  return model;
}

double Distance(const Tensor& got, const Tensor& want) {
  double worst = 0;
  for (int64_t i = 0; i < want.num_elements(); ++i) {
    const double a = got.dtype() == DType::kFloat64 ? got.data<double>()[i]
                                                    : static_cast<double>(got.data<float>()[i]);
    const double b = want.dtype() == DType::kFloat64 ? want.data<double>()[i]
                                                     : static_cast<double>(want.data<float>()[i]);
    worst = std::max(worst, std::fabs(a - b) / std::max(1.0, std::fabs(b)));
  }
  return worst;
}

void RunCase(const Case& each, DType dtype, bool portable, double tolerance) {
  SCOPED_TRACE(each.name + (portable ? " in standard ops, " : ", ") +
               std::string(DTypeName(dtype)));
  const auto data = files::ReadNpz(kFolder + each.name + ".npz");
  ASSERT_TRUE(data.ok()) << data.status();
  OptimizerConfig config = each.config;
  config.portable = portable;
  auto model = StepModel(*data, dtype, config);
  ASSERT_TRUE(model.ok()) << model.status();
  auto session = TrainingSession::Create(std::move(*model));
  ASSERT_TRUE(session.ok()) << session.status();
  for (int64_t step = 0; step < 20; ++step) {
    Session::Inputs gradients;
    for (const char* index : {"0", "1"})
      gradients[std::string("g") + index] =
          Row(data->at(std::string("gradient") + index), step, dtype);
    const auto outputs = (*session)->Step(gradients);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    for (const char* index : {"0", "1"}) {
      const Tensor want = Row(data->at(std::string("after") + index), step, DType::kFloat64);
      const auto got = (*session)->State(std::string("p") + index);
      ASSERT_TRUE(got.ok()) << got.status();
      ASSERT_LT(Distance(*got, want), tolerance)
          << "parameter " << index << " after step " << step + 1;
    }
  }
}

TEST(Optimizers, FollowPyTorchsTrajectories) {
  const std::vector<Case> cases = Cases();
  ASSERT_GE(cases.size(), 29u);
  for (const Case& each : cases) {
    // The sign of Lion's moment is the only place where a rounding can be seen whole.
    for (const bool portable : {false, true}) {
      RunCase(each, DType::kFloat64, portable, 1e-12);
      RunCase(each, DType::kFloat32, portable, 1e-5);
    }
  }
}

TEST(Optimizers, EveryOneHasACase) {
  for (const OptimizerEntry& entry : Optimizers()) {
    const std::vector<Case> cases = Cases();
    EXPECT_TRUE(std::any_of(cases.begin(), cases.end(), [&](const Case& each) {
      return each.config.name == entry.name;
    })) << entry.name;
  }
}

TEST(Optimizers, AStepInStandardOpsIsExportedAndImported) {
  for (const Case& each : Cases()) {
    SCOPED_TRACE(each.name);
    const auto data = files::ReadNpz(kFolder + each.name + ".npz");
    ASSERT_TRUE(data.ok());
    OptimizerConfig config = each.config;
    config.portable = true;
    const auto model = StepModel(*data, DType::kFloat32, config);
    ASSERT_TRUE(model.ok()) << model.status();
    const auto bytes = ExportBytes(*model);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    const auto again = ImportBytes(*bytes);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->updates.size(), model->updates.size());
    for (const NodeId id : again->graph.node_ids()) EXPECT_EQ(again->graph.node(id).domain, "");
  }
}

std::string ErrorOf(const OptimizerConfig& config) {
  const auto data = files::ReadNpz(kFolder + "sgd.npz");
  const auto model = StepModel(*data, DType::kFloat32, config);
  return model.ok() ? "" : std::string(model.status().message());
}

TEST(Optimizers, SayWhatIsWrong) {
  using testing::HasSubstr;
  EXPECT_THAT(ErrorOf({"Adan", {}}), HasSubstr("no optimizer 'Adan'; there are Adadelta,"));
  EXPECT_THAT(
      ErrorOf({"SGD", {{"beta1", 0.9}}}),
      HasSubstr("SGD: beta1 is not one of its options, which are dampening, lr, maximize, "));
  EXPECT_THAT(ErrorOf({"SGD", {{"lr", -1}}}), HasSubstr("lr = -1 is not in [0, inf]"));
  EXPECT_THAT(ErrorOf({"Adam", {{"beta2", 1}}}), HasSubstr("beta2 = 1 is not in [0, "));
  EXPECT_THAT(ErrorOf({"Adam", {{"eps", NAN}}}), HasSubstr("eps = nan is not in"));
  EXPECT_THAT(ErrorOf({"SGD", {{"nesterov", 1}}}), HasSubstr("needs a momentum above 0"));
}

TEST(Optimizers, RefuseWhatIsNoParameter) {
  Model model;
  Tensor ints(DType::kInt64, {2});
  const ValueId counts = GraphEdit(model.graph).AddConstant("counts", std::move(ints));
  const ValueId open =
      GraphEdit(model.graph).AddInput("open", Type::Tensor(DType::kFloat32, Dims{2}));
  for (const ValueId id : {counts, open}) {
    const auto added = AddOptimizer(model, {"SGD", {}}, {ParameterGroup{"", {id}, {open}, {}}});
    ASSERT_FALSE(added.ok());
    EXPECT_THAT(std::string(added.status().message()),
                testing::HasSubstr("an optimizer trains float initializers"));
  }
}

}  // namespace
}  // namespace onward::training
