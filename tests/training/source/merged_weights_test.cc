// Weights that PyTorch's exporters write once because their values are equal: the graphs are theirs
// (PyTorch 2.15), and what reads what is as in the modules that were exported.
#include "training/source/merged_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "absl/strings/str_cat.h"
#include "graph/ir/graph_edit.h"
#include "graph/ir/verify.h"
#include "tests/support/text_model.h"

namespace onward::training {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class MergedWeightsTest : public ::testing::Test {
 protected:
  void Load(const std::string& body, const std::string& constants) {
    auto model = testing::ModelFromText(
        absl::StrCat("g (float[3,2] x) => (float[3,2] y) <", constants, "> {", body, "}"));
    ASSERT_TRUE(model.ok()) << model.status();
    model_ = *std::move(model);
  }

  Node& NodeOf(const std::string& output) {
    Graph& graph = model_.graph;
    return GraphEdit(graph).node(graph.value(graph.FindValue(output)).producer);
  }
  void Name(const std::string& output, const std::string& name) { NodeOf(output).name = name; }
  void Scope(const std::string& output, const std::string& scopes) {
    NodeOf(output).metadata["pkg.torch.onnx.name_scopes"] = scopes;
  }

  std::map<std::string, std::string> Separate(const std::vector<std::string>& shared = {}) {
    std::map<std::string, std::string> made;
    for (const SeparatedWeight& each : SeparateMergedWeights(model_.graph, initializers_, shared)) {
      made[each.name] = each.from;
      EXPECT_THAT(initializers_, ::testing::Contains(each.name));
    }
    EXPECT_TRUE(Verify(model_.graph).ok()) << Verify(model_.graph);
    return made;
  }
  std::string Input(const std::string& output, size_t input) {
    return model_.graph.value(NodeOf(output).inputs[input]).name;
  }

  Model model_;
  std::vector<std::string> initializers_ = {"b", "w"};
};

constexpr char kWeights[] = "float[2] b = {0, 0}, float[2,2] w = {1, 2, 3, 4}";

// nn.Linear and nn.LayerNorm, fresh, torch.onnx.export(dynamo=True).
TEST_F(MergedWeightsTest, ModulesHaveTheirOwnZeros) {
  Load("a = Gemm(x, w, b) y = LayerNormalization(a, b, b)", kWeights);
  Scope("a", "['', 'fc', 'linear']");
  Scope("y", "['', 'layers.0', 'layers.0.norm', 'layer_norm']");
  EXPECT_THAT(Separate(), UnorderedElementsAre(Pair("layers.0.norm.weight", "b"),
                                               Pair("layers.0.norm.bias", "b")));
  EXPECT_EQ(Input("a", 2), "b");
  EXPECT_EQ(Input("y", 1), "layers.0.norm.weight");
  EXPECT_EQ(Input("y", 2), "layers.0.norm.bias");
}

// torch.onnx.export(dynamo=False) keeps the other names.
TEST_F(MergedWeightsTest, TheNamesOfIdentitiesCome) {
  initializers_ = {"fc.bias", "w"};
  Load("i = Identity(b) a = Gemm(x, w, b) y = Add(a, i)", kWeights);
  GraphEdit(model_.graph).Rename(model_.graph.FindValue("b"), "fc.bias");
  GraphEdit(model_.graph).Rename(model_.graph.FindValue("i"), "shift");
  Name("a", "/fc/Gemm");
  Name("y", "/Add");
  EXPECT_THAT(Separate(), IsEmpty()) << "the module of '/Add' has no name";
  Name("y", "/top/Add");
  EXPECT_THAT(Separate(), ElementsAre(Pair("shift", "fc.bias")));
  EXPECT_EQ(Input("a", 2), "fc.bias");
  EXPECT_EQ(Input("y", 1), "shift");
}

TEST_F(MergedWeightsTest, CallsOfOneModuleShare) {
  Load("a = Gemm(x, w, b) y = Gemm(a, w, b)", kWeights);
  Name("a", "/fc/Gemm");
  Name("y", "/fc_1/Gemm");
  EXPECT_THAT(Separate(), IsEmpty());
  Scope("a", "['', 'fc', 'linear']");
  Scope("y", "['', 'fc', 'linear_1']");
  EXPECT_THAT(Separate(), IsEmpty());
}

// nn.TransformerEncoder copies its layer; a weight that an embedding and a head have is one.
TEST_F(MergedWeightsTest, CopiesOfALayerAreApartAndTiedWeightsAreNot) {
  Load("a = Gemm(x, w, b) y = MatMul(a, w)", kWeights);
  Name("a", "/layers.0/fc/Gemm");
  Name("y", "/head/MatMul");
  EXPECT_THAT(Separate(), IsEmpty());
  Name("y", "/layers.1/fc/MatMul");
  EXPECT_THAT(Separate(), ElementsAre(Pair("layers.1.fc.w", "w")));
}

TEST_F(MergedWeightsTest, WhatStaysOne) {
  Load("a = Gemm(x, w, b) y = Add(a, b)", kWeights);
  EXPECT_THAT(Separate(), IsEmpty()) << "nothing names modules";
  Name("a", "/one/Gemm");
  Name("y", "/two/Add");
  EXPECT_THAT(Separate({"b*"}), IsEmpty());
  EXPECT_THAT(Separate(), ElementsAre(Pair("two.b", "b")));
}

TEST_F(MergedWeightsTest, TheVarianceIsNotTheScale) {
  Load("y = BatchNormalization(x, w, b, b, w)", "float[2] b = {0, 0}, float[2] w = {1, 1}");
  Name("y", "/bn/BatchNormalization");
  EXPECT_THAT(Separate(), UnorderedElementsAre(Pair("bn.b", "b"), Pair("bn.w", "w")));
  EXPECT_EQ(Input("y", 1), "w");
  EXPECT_EQ(Input("y", 4), "bn.w");
}

}  // namespace
}  // namespace onward::training
