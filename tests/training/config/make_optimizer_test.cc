// The messages of the optimizers and their entries have the same options, and each option changes
// what a training computes.
#include "training/config/make_optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/text_format.h"
#include "graph/ir/graph_edit.h"
#include "graph/ops/onward_schemas.h"
#include "onnx/defs/schema.h"
#include "onward/status.h"
#include "training/config/kinds.h"
#include "training/step/training_session.h"

namespace onward::training {
namespace {

namespace proto = google::protobuf;

OptimizerSettings Parsed(const std::string& text) {
  OptimizerSettings settings;
  EXPECT_TRUE(proto::TextFormat::ParseFromString(text, &settings)) << text;
  return settings;
}

double DefaultOf(const proto::FieldDescriptor& field) {
  return field.cpp_type() == proto::FieldDescriptor::CPPTYPE_BOOL
             ? static_cast<double>(field.default_value_bool())
             : field.default_value_double();
}

std::map<std::string, double> OptionsOf(const OptimizerEntry& entry) {
  std::map<std::string, double> options;
  for (const auto* list : {&entry.settings, &entry.choices})
    for (const OptimizerSetting& each : *list) options[std::string(each.name)] = each.default_value;
  for (const OptimizerSwitch& each : entry.switches)
    options[std::string(each.name)] = static_cast<double>(each.default_value);
  return options;
}

TEST(MakeOptimizer, MessagesHaveTheOptionsOfTheEntries) {
  std::set<std::string> names;
  for (const proto::FieldDescriptor* kind : KindsOf(*OptimizerSettings::descriptor())) {
    const proto::Descriptor& message = *kind->message_type();
    EXPECT_EQ(kind->name(), absl::AsciiStrToLower(message.name()));
    if (kind->name() == "lbfgs") continue;
    SCOPED_TRACE(message.name());
    names.insert(message.name());
    const OptimizerEntry* entry = FindOptimizer(message.name());
    ASSERT_NE(entry, nullptr);
    std::map<std::string, double> fields;
    for (int i = 0; i < message.field_count(); ++i)
      fields[message.field(i)->name()] = DefaultOf(*message.field(i));
    EXPECT_EQ(fields, OptionsOf(*entry));
  }
  for (const OptimizerEntry& entry : Optimizers())
    EXPECT_TRUE(names.contains(std::string(entry.name))) << entry.name;
}

TEST(MakeOptimizer, GroupsHaveTheSameKinds) {
  const proto::Descriptor& group = *ParameterGroupConfig::descriptor();
  for (const proto::FieldDescriptor* kind : KindsOf(*OptimizerSettings::descriptor())) {
    const proto::FieldDescriptor* in_group = group.FindFieldByName(kind->name());
    if (kind->name() == "lbfgs") {
      EXPECT_EQ(in_group, nullptr);
      continue;
    }
    ASSERT_NE(in_group, nullptr) << kind->name();
    EXPECT_EQ(in_group->message_type(), kind->message_type());
  }
}

// A switch that is not an attribute of its op, or an attribute that no switch sets, would be
// dropped.
TEST(MakeOptimizer, SwitchesAreTheAttributesOfTheOps) {
  std::map<std::string, std::set<std::string>> set;
  for (const OptimizerEntry& entry : Optimizers()) {
    const onnx::OpSchema* schema = FindSchema(entry.op_type(), kOnwardDomain);
    ASSERT_NE(schema, nullptr) << entry.op_type();
    std::vector<std::string> attributes(entry.fixed_switches.begin(), entry.fixed_switches.end());
    for (const OptimizerSwitch& each : entry.switches) attributes.emplace_back(each.attribute);
    for (const std::string& each : attributes) {
      EXPECT_TRUE(schema->attributes().contains(each)) << entry.name << " " << each;
      set[entry.op_type()].insert(each);
    }
  }
  for (const auto& [op, attributes] : set)
    EXPECT_EQ(FindSchema(op, kOnwardDomain)->attributes().size(), attributes.size()) << op;
}

// A [3, 4] parameter after 12 steps of gradients that change their signs, shrink, and leap at last.
absl::StatusOr<std::vector<double>> Trained(const OptimizerConfig& config) {
  Model model;
  model.opsets[""] = 28;
  Tensor start(DType::kFloat64, {3, 4});
  for (int64_t i = 0; i < 12; ++i)
    start.mutable_data<double>()[i] = 0.3 * std::sin(1.0 + 2.0 * static_cast<double>(i));
  ParameterGroup group;
  group.parameters = {GraphEdit(model.graph).AddConstant("p", start)};
  group.gradients = {
      GraphEdit(model.graph).AddInput("g", Type::Tensor(DType::kFloat64, Dims{3, 4}))};
  ONWARD_RETURN_IF_ERROR(AddOptimizer(model, config, {group}).status());
  ONWARD_ASSIGN_OR_RETURN(const auto session, TrainingSession::Create(std::move(model)));
  for (int64_t step = 0; step < 12; ++step) {
    Tensor gradient(DType::kFloat64, {3, 4});
    for (int64_t i = 0; i < 12; ++i)
      gradient.mutable_data<double>()[i] = std::cos(static_cast<double>(3 * i + step)) *
                                           (step == 11 ? 3 : 1 / static_cast<double>(1 + step));
    ONWARD_RETURN_IF_ERROR(session->Step({{"g", gradient}}).status());
  }
  ONWARD_ASSIGN_OR_RETURN(const Tensor now, session->State("p"));
  return std::vector<double>(now.data<double>(), now.data<double>() + 12);
}

// Options under which every other one has a part in the step.
std::string Base(const std::string& kind, const std::string& option) {
  std::string base = kind == "sgd" || kind == "rmsprop" ? "momentum: 0.9" : "";
  if (option == "momentum") base = "";
  if (option != "weight_decay" && kind != "muon") absl::StrAppend(&base, " weight_decay: 0.1");
  // The second moment of AMSGrad is the largest so far once it falls; RAdam's is used from the
  // start; momentum_decay counts in thousands of steps.
  if ((kind == "adam" || kind == "adamw" || kind == "radam") && option != "beta2")
    absl::StrAppend(&base, " beta2: 0.8");
  return base;
}

TEST(MakeOptimizer, EveryOptionChangesTheStep) {
  for (const proto::FieldDescriptor* kind : KindsOf(*OptimizerSettings::descriptor())) {
    if (kind->name() == "lbfgs") continue;
    for (int i = 0; i < kind->message_type()->field_count(); ++i) {
      const proto::FieldDescriptor& field = *kind->message_type()->field(i);
      SCOPED_TRACE(absl::StrCat(kind->name(), ".", field.name()));
      const std::string base = Base(kind->name(), field.name());
      const auto train = [&](const std::string& more) {
        return Trained(MakeOptimizer(Parsed(absl::StrCat(kind->name(), " { ", base, more, " }"))));
      };
      const auto plain = train("");
      ASSERT_TRUE(plain.ok()) << plain.status();
      std::vector<std::string> values = {"0.5", "3", "-0.5"};
      if (field.cpp_type() == proto::FieldDescriptor::CPPTYPE_BOOL)
        values = {field.default_value_bool() ? "false" : "true"};
      bool changes = false;
      for (const std::string& value : values) {
        const auto changed = train(absl::StrCat(" ", field.name(), ": ", value));
        changes = changes || (changed.ok() && *changed != *plain);
      }
      EXPECT_TRUE(changes);
      // The same of a group.
      ParameterGroupConfig group;
      ASSERT_TRUE(proto::TextFormat::ParseFromString(
          absl::StrCat(kind->name(), " { ", field.name(), ": ", values[0], " }"), &group));
      EXPECT_THAT(GroupOptions(group), ::testing::ElementsAre(::testing::Pair(
                                           field.name(), values[0] == "true"    ? 1
                                                         : values[0] == "false" ? 0
                                                                                : 0.5)));
    }
  }
}

auto Numbers(const Lbfgs::Options& o) {
  return std::tuple(o.lr, o.max_iterations, o.max_evaluations, o.tolerance_gradient,
                    o.tolerance_change, o.history, o.line_search);
}

TEST(MakeOptimizer, LbfgsHasEveryOption) {
  const auto plain = Numbers(MakeLbfgsOptions({}));
  EXPECT_EQ(plain, Numbers(Lbfgs::Options()));
  const proto::Descriptor& message = *OptimizerSettings::LBFGS::descriptor();
  EXPECT_EQ(message.field_count(), static_cast<int>(std::tuple_size_v<decltype(plain)>));
  for (int i = 0; i < message.field_count(); ++i) {
    const bool is_enum = message.field(i)->enum_type() != nullptr;
    const OptimizerSettings settings = Parsed(absl::StrCat(
        "lbfgs { ", message.field(i)->name(), ": ", is_enum ? "STRONG_WOLFE" : "7", " }"));
    EXPECT_NE(Numbers(MakeLbfgsOptions(settings.lbfgs())), plain) << message.field(i)->name();
  }
  EXPECT_EQ(OptimizerName(Parsed("lbfgs {}")), "LBFGS");
  EXPECT_EQ(OptimizerName({}), "");
}

}  // namespace
}  // namespace onward::training
