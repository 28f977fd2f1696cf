// Every field of every kind of loss has a part in the loss. (Their numbers are compared with
// PyTorch's in tests/training/losses.)
#include "training/config/make_loss.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "absl/strings/str_cat.h"
#include "google/protobuf/text_format.h"
#include "graph/ir/graph_edit.h"
#include "onward/session.h"
#include "onward/status.h"
#include "training/config/kinds.h"

namespace onward::training {
namespace {

LossConfig Parsed(const std::string& text) {
  LossConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return config;
}

struct Data {
  Tensor scores, target;
  Tensor frames = Tensor::Of<int64_t>({2}, {2, 3}), lengths = Tensor::Of<int64_t>({2}, {1, 1});
};

// The loss of scores, a sum over the parts' count where there is one.
absl::StatusOr<double> Value(const LossConfig& config, const Data& data) {
  Model model;
  model.opsets[""] = 28;
  GraphSink sink(model.graph);
  LossOperands operands;
  operands.scores = sink.Value(GraphEdit(model.graph).AddConstant("scores", data.scores));
  operands.target = sink.Value(GraphEdit(model.graph).AddConstant("target", data.target));
  if (config.ctc().has_input_lengths())
    operands.frames = sink.Value(GraphEdit(model.graph).AddConstant("frames", data.frames));
  if (config.ctc().has_target_lengths())
    operands.lengths = sink.Value(GraphEdit(model.graph).AddConstant("lengths", data.lengths));
  ONWARD_ASSIGN_OR_RETURN(const Expr loss, MakeLoss(config, operands));
  GraphEdit(model.graph).Rename(loss.id(), "loss");
  GraphEdit(model.graph).AddOutput(loss.id());
  ONWARD_ASSIGN_OR_RETURN(const auto session, Session::Create(std::move(model)));
  ONWARD_ASSIGN_OR_RETURN(const Session::Outputs outputs, session->Run({}));
  return outputs.at("loss").tensor().data<double>()[0];
}

Data Classes() {
  return {Tensor::Of<double>({3, 3}, {0.2, -1, 0.5, 1.5, 0.1, -0.3, 0.4, 0.9, -2}),
          Tensor::Of<int64_t>({3}, {0, 2, 1})};
}
Data Elements(std::vector<double> target) {
  return {Tensor::Of<double>({2, 3}, {0.2, 0.8, 0.5, 0.6, 0.1, 0.3}),
          Tensor::Of<double>({2, 3}, std::move(target))};
}
Data Ctc() {
  return {Tensor::Of<double>({2, 3, 3}, {0.2, -1, 0.5, 1.5, 0.1, -0.3, 0.4, 0.9, -2,  //
                                         0.7, -0.4, 0.1, 0.3, 1.1, -0.6, 0.2, 0.5, 0.8}),
          Tensor::Of<int64_t>({2, 2}, {1, 2, 2, -1})};
}

struct Field {
  const char *kind, *base, *changed;
  Data data;
};

std::vector<Field> Fields() {
  const Data binary = Elements({0, 1, 1, 1, 0, 0}), signs = Elements({-1, 1, 1, 1, -1, -1});
  const Data far = Elements({4, -3, 1, 0.7, 2, 0});
  Data labels = Classes(), axis = Classes();
  labels.target = Tensor::Of<int64_t>({3, 3}, {1, 0, -1, 2, -1, -1, 0, 1, 2});
  axis.scores = Tensor::Of<double>({2, 2, 2}, {0.2, -1, 0.5, 1.5, 0.1, -0.3, 0.4, 0.9});
  axis.target = Tensor::Of<int64_t>({2, 2}, {0, 1, 1, 0});
  // Two equal labels need a blank between them: three frames.
  Data crowded = Ctc();
  crowded.target = Tensor::Of<int64_t>({2, 2}, {1, 1, 2, -1});
  return {{"bce", "", "weight: [1, 2, 3]", binary},
          {"bce_with_logits", "", "weight: [1, 2, 3]", binary},
          {"bce_with_logits", "", "pos_weight: [1, 2, 3]", binary},
          {"cross_entropy", "", "weight: [1, 2, 3]", Classes()},
          {"cross_entropy", "", "ignore_index: 2", Classes()},
          {"cross_entropy", "", "label_smoothing: 0.2", Classes()},
          {"cross_entropy", "", "class_axis: -1", axis},
          {"nll", "", "weight: [1, 2, 3]", Classes()},
          {"nll", "", "ignore_index: 2", Classes()},
          {"nll", "", "class_axis: -1", axis},
          {"multi_margin", "", "weight: [1, 2, 3]", Classes()},
          {"multi_margin", "", "margin: 3", Classes()},
          {"multi_margin", "", "p: 2", Classes()},
          {"multi_margin", "", "class_axis: -1", axis},
          {"multi_label_margin", "", "", labels},
          {"multi_label_soft_margin", "", "weight: [1, 2, 3]", binary},
          {"ctc", "", "input_lengths: 'n'", Ctc()},
          {"ctc", "", "target_lengths: 'n'", Ctc()},
          {"ctc", "", "blank: 2", Ctc()},
          {"ctc", "input_lengths: 'n'", "zero_infinity: true", crowded},
          {"ctc", "", "class_axis: -1", Ctc()},
          {"kl_div", "", "log_target: true", binary},
          {"poisson_nll", "", "log_input: false", far},
          {"poisson_nll", "", "full: true", far},
          {"poisson_nll", "log_input: false", "eps: 0.5", far},
          {"mse", "", "", far},
          {"l1", "", "", far},
          {"huber", "", "delta: 0.5", far},
          {"smooth_l1", "", "beta: 0.5", far},
          {"hinge_embedding", "", "margin: 0.5", signs},
          {"soft_margin", "", "", signs}};
}

TEST(MakeLoss, EveryFieldChangesTheLoss) {
  std::set<std::string> covered;
  for (const Field& each : Fields()) {
    SCOPED_TRACE(absl::StrCat(each.kind, " ", each.changed));
    const std::string begin = absl::StrCat(each.kind, " { ", each.base, " ");
    covered.insert(absl::StrCat(
        each.kind, " ", std::string(each.changed).substr(0, std::string(each.changed).find(':'))));
    const auto plain = Value(Parsed(begin + "}"), each.data);
    const std::string with = absl::StrCat(begin, each.changed, " }");
    const auto changed = Value(Parsed(with), each.data),
               sum = Value(Parsed(with + " reduction: SUM"), each.data);
    // A class axis may leave no loss of such shapes.
    if (plain.ok() && *std::string(each.changed).c_str() != '\0') {
      ASSERT_TRUE(changed.ok()) << changed.status();
      EXPECT_NE(*plain, *changed);
    }
    ASSERT_TRUE(sum.ok()) << sum.status();
    if (changed.ok()) {
      EXPECT_NE(*changed, *sum);
    }
  }
  for (const auto* kind : KindsOf(*LossConfig::descriptor())) {
    if (kind->name() == "from_model") continue;
    const auto& message = *kind->message_type();
    if (message.field_count() == 0) {
      EXPECT_TRUE(covered.contains(kind->name() + " ")) << kind->name();
    }
    for (int i = 0; i < message.field_count(); ++i)
      EXPECT_TRUE(covered.contains(kind->name() + " " + message.field(i)->name()))
          << kind->name() << "." << message.field(i)->name();
  }
}

TEST(MakeLoss, WhatAConfigSaysOfItsLoss) {
  EXPECT_EQ(LossesOfClasses(), "cross_entropy, multi_margin, nll");
  EXPECT_TRUE(HasClasses(Parsed("multi_margin {}")));
  EXPECT_FALSE(HasClasses(Parsed("ctc {}")));
  EXPECT_FALSE(HasClasses(Parsed("from_model {}")));
  for (const char* kind : {"cross_entropy", "nll", "multi_margin", "ctc"}) {
    EXPECT_EQ(ClassAxis(Parsed(absl::StrCat(kind, " {}"))), 1);
    EXPECT_EQ(ClassAxis(Parsed(absl::StrCat(kind, " { class_axis: -1 }"))), -1);
  }
  EXPECT_EQ(ClassAxis(Parsed("mse {}")), 1);
  EXPECT_EQ(IgnoredTarget(Parsed("nll { ignore_index: 3 }")), 3);
  EXPECT_EQ(IgnoredTarget(Parsed("cross_entropy { ignore_index: 4 }")), 4);
  EXPECT_EQ(IgnoredTarget(Parsed("multi_margin {}")), -100);
  EXPECT_THAT(std::string(Value(LossConfig(), Classes()).status().message()),
              ::testing::HasSubstr("must name a kind, one of bce, bce_with_logits"));
}

}  // namespace
}  // namespace onward::training
