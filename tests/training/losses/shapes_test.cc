// Operands of losses whose shapes differ: refused where the loss is built, or where the shapes
// come.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "graph/ir/graph_edit.h"
#include "onward/functions.h"
#include "onward/session.h"
#include "training/losses/loss.h"

namespace onward::training {
namespace {

using loss::Reduction;
using ::testing::AllOf;
using ::testing::HasSubstr;
using Loss = std::function<Expr(const Expr& x, const Expr& target)>;

const std::map<std::string, Loss>& ElementwiseLosses() {
  static const auto* losses = new std::map<std::string, Loss>{
      {"bce", [](auto& x, auto& y) { return loss::BinaryCrossEntropy(x, y); }},
      {"bce_with_logits",
       [](auto& x, auto& y) { return loss::BinaryCrossEntropyWithLogits(x, y); }},
      {"mse", [](auto& x, auto& y) { return loss::MeanSquaredError(x, y); }},
      {"l1", [](auto& x, auto& y) { return loss::L1(x, y); }},
      {"huber", [](auto& x, auto& y) { return loss::Huber(x, y); }},
      {"smooth_l1", [](auto& x, auto& y) { return loss::SmoothL1(x, y); }},
      {"kl", [](auto& x, auto& y) { return loss::KullbackLeibler(x, y); }},
      {"poisson", [](auto& x, auto& y) { return loss::PoissonNegativeLogLikelihood(x, y); }},
      {"gaussian", [](auto& x, auto& y) { return loss::GaussianNegativeLogLikelihood(x, y, x); }},
      {"hinge_embedding", [](auto& x, auto& y) { return loss::HingeEmbedding(x, y); }},
      {"margin_ranking", [](auto& x, auto& y) { return loss::MarginRanking(x, x, y); }},
      {"soft_margin", [](auto& x, auto& y) { return loss::SoftMargin(x, y); }},
      {"multi_label_soft_margin",
       [](auto& x, auto& y) { return loss::MultiLabelSoftMargin(x, y); }},
      {"triplet_margin", [](auto& x, auto& y) { return loss::TripletMargin(x, y, y); }},
      {"cosine_embedding",
       [](auto& x, auto& y) { return loss::CosineEmbedding(x, y, ReduceSum(x, {-1}, false)); }},
  };
  return *losses;
}

struct Operand {
  DType dtype;
  SymbolicDims type;  // what the graph knows
  Dims dims;          // what comes
};

// The message of the first error, of the graph or of a run; "" when there is none. Two equal
// operands are given 0.5 everywhere, integers 0.
struct Outcome {
  std::string built, ran;
};
Outcome Try(const std::vector<Operand>& operands,
            const std::function<Expr(const std::vector<Expr>&)>& write) {
  Model model;
  model.opsets[""] = 28;
  GraphSink sink(model.graph);
  std::vector<Expr> inputs;
  Session::Inputs given;
  for (size_t i = 0; i < operands.size(); ++i) {
    const std::string name = i == 0 ? "scores" : i == 1 ? "label" : absl::StrCat("operand", i);
    const Operand& each = operands[i];
    inputs.push_back(
        sink.Value(GraphEdit(model.graph).AddInput(name, Type::Tensor(each.dtype, each.type))));
    Tensor value(each.dtype, each.dims);
    if (each.dtype == DType::kFloat32)
      std::fill_n(value.mutable_data<float>(), value.num_elements(), 0.5f);
    else
      std::fill_n(value.mutable_data<int64_t>(), value.num_elements(), 0);
    given[name] = value;
  }
  const Expr loss = write(inputs);
  if (!sink.status().ok()) return {std::string(sink.status().message()), ""};
  GraphEdit(model.graph).AddOutput(loss.id());
  auto session = Session::Create(std::move(model));
  if (!session.ok()) return {std::string(session.status().message()), ""};
  return {"", std::string((*session)->Run(given).status().message())};
}

Operand Floats(SymbolicDims type, Dims dims) { return {DType::kFloat32, type, dims}; }
Operand Known(const Dims& dims) {
  return {DType::kFloat32, SymbolicDims(dims.begin(), dims.end()), dims};
}
Operand Classes(const Dims& dims) {
  return {DType::kInt64, SymbolicDims(dims.begin(), dims.end()), dims};
}
const Dim kBatch = ParseDim("batch"), kOther = ParseDim("other");

TEST(LossShapes, NothingIsBroadcast) {
  for (const auto& [name, function] : ElementwiseLosses()) {
    SCOPED_TRACE(name);
    const auto run = [&, f = function](const Operand& x, const Operand& target) {
      return Try({x, target}, [&](const auto& of) { return f(of[0], of[1]); });
    };
    const auto both = [&, name = name](const char* got, const char* expected) {
      return AllOf(HasSubstr(absl::StrCat("loss ", name, ": ")), HasSubstr("'label'"),
                   HasSubstr("'scores'"), HasSubstr(absl::StrCat("has the shape ", got)),
                   HasSubstr(expected), HasSubstr("`dim: 1`"));
    };
    EXPECT_EQ(run(Known({4, 3}), Known({4, 3})).ran, "");
    // Known ranks or dims that differ, also where the batch is 1.
    EXPECT_THAT(run(Known({4, 1}), Known({4})).built, both("[4]", "[4,1]"));
    EXPECT_THAT(run(Known({1, 1}), Known({1})).built, both("[1]", "[1,1]"));
    EXPECT_THAT(run(Known({4, 3}), Known({4, 1})).built, both("[4,1]", "[4,3]"));
    EXPECT_THAT(run(Floats({kBatch, 1}, {4, 1}), Floats({kBatch}, {4})).built,
                both("[batch]", "[batch,1]"));
    // Symbols that may be equal and are not.
    EXPECT_EQ(run(Floats({kBatch, 3}, {4, 3}), Floats({kOther, 3}, {4, 3})).ran, "");
    EXPECT_THAT(run(Floats({kBatch, 3}, {4, 3}), Floats({kOther, 3}, {1, 3})).ran,
                both("[1,3]", "[4,3]"));
    EXPECT_THAT(run(Floats({kBatch, Dim()}, {4, 1}), Floats({kBatch, Dim()}, {4, 3})).ran,
                both("[4,3]", "[4,1]"));
  }
}

TEST(LossShapes, WeightsFitTheScores) {
  const auto weighted = [](const Operand& x, const Operand& weight, bool positive) {
    return Try({x, x, weight}, [&](const auto& of) {
      return positive ? loss::BinaryCrossEntropyWithLogits(of[0], of[1], {}, of[2])
                      : loss::BinaryCrossEntropyWithLogits(of[0], of[1], of[2]);
    });
  };
  for (const bool positive : {false, true}) {
    EXPECT_EQ(weighted(Known({4, 3}), Known({3}), positive).ran, "");
    EXPECT_EQ(weighted(Known({4, 3}), Known({1}), positive).ran, "");
    EXPECT_EQ(weighted(Known({4, 3}), Known({4, 1}), positive).ran, "");
    EXPECT_EQ(weighted(Floats({kBatch, Dim()}, {4, 3}), Known({3}), positive).ran, "");
    for (const Dims& dims : {Dims{3}, Dims{4, 3}, Dims{1, 4, 1}})
      EXPECT_THAT(weighted(Known({4, 1}), Known(dims), positive).built,
                  AllOf(HasSubstr("weight has the shape"), HasSubstr("'scores' has [4,1]")));
    EXPECT_THAT(weighted(Floats({kBatch, Dim()}, {4, 1}), Known({3}), positive).ran,
                AllOf(HasSubstr("weight has the shape [3]"), HasSubstr("'scores' has [4,1]")));
  }
  const auto of_classes = [](const Operand& weight, auto loss) {
    return Try({Known({4, 3}), Classes({4}), weight},
               [&](const auto& of) { return loss(of[0], of[1], of[2]); });
  };
  const auto cross_entropy = [](auto& x, auto& y, auto& w) {
    return loss::CrossEntropy(x, y, {.weight = w});
  };
  const auto multi_margin = [](auto& x, auto& y, auto& w) {
    return loss::MultiMargin(x, y, 1, 1, w);
  };
  EXPECT_EQ(of_classes(Known({3}), cross_entropy).ran, "");
  EXPECT_EQ(of_classes(Known({3}), multi_margin).ran, "");
  EXPECT_THAT(of_classes(Known({2}), cross_entropy).built,
              HasSubstr("loss cross_entropy: the weight 'operand2' has the shape [2], for 'scores' "
                        "of [4,3] it must have [3]"));
  EXPECT_THAT(of_classes(Known({1}), multi_margin).built, HasSubstr("must have [3]"));
  EXPECT_THAT(of_classes(Floats({Dim()}, {5}), multi_margin).ran,
              HasSubstr("loss multi_margin: the weight 'operand2' has the shape [5]"));
}

TEST(LossShapes, TargetsOfClasses) {
  using Pair = std::function<Expr(const std::vector<Expr>&)>;
  const std::pair<const char*, Pair> losses[] = {
      {"cross_entropy", [](const auto& of) { return loss::CrossEntropy(of[0], of[1]); }},
      {"nll", [](const auto& of) { return loss::NegativeLogLikelihood(of[0], of[1]); }},
      {"multi_margin", [](const auto& of) { return loss::MultiMargin(of[0], of[1]); }},
  };
  for (const auto& [name, write] : losses) {
    SCOPED_TRACE(name);
    EXPECT_EQ(Try({Known({4, 3}), Classes({4})}, write).ran, "");
    EXPECT_THAT(
        Try({Known({4, 3}), Classes({4, 1})}, write).built,
        HasSubstr(absl::StrCat("loss ", name,
                               ": the target 'label' has the shape [4,1], for the scores "
                               "'scores' of [4,3] it must have [4], a class for each row of "
                               "scores along axis 1")));
    EXPECT_THAT(Try({Floats({kBatch, 3}, {4, 3}), {DType::kInt64, {kOther}, {1}}}, write).ran,
                AllOf(HasSubstr("has the shape [1]"), HasSubstr("it must have [4]")));
    // Labels that were read as floats.
    EXPECT_THAT(Try({Known({4, 3}), Known({4})}, write).built,
                AllOf(HasSubstr(absl::StrCat("loss ", name, ": the target")),
                      HasSubstr("float32[4]"), HasSubstr("cast"), HasSubstr("`element: INT64`")));
  }
  const auto cross_entropy = losses[0].second;
  EXPECT_EQ(Try({Known({4, 3}), Known({4, 3})}, cross_entropy).ran, "");
  EXPECT_THAT(Try({Known({4, 3}), Known({4, 1})}, cross_entropy).built,
              HasSubstr("the target of probabilities 'label' has the shape [4,1]"));
  EXPECT_EQ(Try({Known({3}), Classes({})}, cross_entropy).ran, "");
  const auto lists = [](const auto& of) { return loss::MultiLabelMargin(of[0], of[1]); };
  EXPECT_EQ(Try({Known({4, 3}), Classes({4, 2})}, lists).ran, "");
  EXPECT_THAT(
      Try({Known({4, 3}), Classes({2, 3})}, lists).built,
      HasSubstr("the target 'label' has the shape [2,3], for the scores 'scores' of [4,3]"));
  EXPECT_THAT(Try({Known({4, 3}), Known({4, 3})}, lists).built, HasSubstr("must be of integers"));
}

TEST(LossShapes, OfSequences) {
  const auto ctc = [](const auto& of) { return loss::Ctc(of[0], of[1], of[2], of[3]); };
  const auto run = [&](const Dims& labels, const Dims& frames, const Dims& lengths) {
    return Try({Known({5, 4, 3}), Classes(labels), Classes(frames), Classes(lengths)}, ctc).built;
  };
  EXPECT_EQ(run({4, 2}, {4}, {4}), "");
  EXPECT_THAT(run({4, 2}, {1}, {4}), HasSubstr("loss ctc: frames 'operand2' has the shape [1]"));
  EXPECT_THAT(run({4, 2}, {4}, {4, 1}), HasSubstr("loss ctc: lengths 'operand3'"));
  EXPECT_THAT(run({1, 2}, {4}, {4}), HasSubstr("loss ctc: the target 'label' has the shape [1,2]"));
}

// torch.nn.functional.gaussian_nll_loss: of the input's shape, with 1 as last axis, or without it.
TEST(LossShapes, Variances) {
  const auto run = [](const Dims& dims) {
    return Try({Known({3, 3}), Known({3, 3}), Known(dims)},
               [](const auto& of) {
                 return loss::GaussianNegativeLogLikelihood(of[0], of[1], of[2]);
               })
        .built;
  };
  EXPECT_EQ(run({3, 3}), "");
  EXPECT_EQ(run({3, 1}), "");
  EXPECT_EQ(run({3}), "");
  EXPECT_THAT(run({2, 3}), HasSubstr("loss gaussian: the variance has the shape [2,3]"));
}

TEST(LossShapes, ProbabilitiesAreBetween0And1) {
  const auto run = [](float probability, float target) {
    Model model;
    model.opsets[""] = 28;
    GraphSink sink(model.graph);
    const auto input = [&](const char* name) {
      return sink.Value(
          GraphEdit(model.graph).AddInput(name, Type::Tensor(DType::kFloat32, Dims{2})));
    };
    const Expr x = input("y"), label = input("label");
    GraphEdit(model.graph).AddOutput(loss::BinaryCrossEntropy(x, label).id());
    auto session = Session::Create(std::move(model));
    EXPECT_TRUE(session.ok()) << session.status();
    return std::string((*session)
                           ->Run({{"y", Tensor::Of<float>({2}, {0.5f, probability})},
                                  {"label", Tensor::Of<float>({2}, {0, target})}})
                           .status()
                           .message());
  };
  EXPECT_EQ(run(0, 1), "");
  EXPECT_EQ(run(1, 0), "");
  EXPECT_EQ(run(NAN, 0), "");  // the loss says so
  EXPECT_THAT(run(1.5f, 0), HasSubstr("loss bce: the output 'y' is 1.5 at position 1, must be in "
                                      "[0, 1]: put a Sigmoid on it, or use bce_with_logits"));
  EXPECT_THAT(run(0.5f, -1), HasSubstr("loss bce: the target 'label' is -1 at position 1, must be "
                                       "in [0, 1]"));
}

}  // namespace
}  // namespace onward::training
