// Maps as inputs and outputs: CastMap, DictVectorizer and ZipMap. Expected values: ONNX Runtime
// 1.31, but for keys beyond max_map, which the standard forbids.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "onward/session.h"
#include "tests/support/text_model.h"

namespace onward::executors {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Output 0 of a model of one node with one input.
absl::StatusOr<Value> RunNode(const std::string& input_type, const std::string& output_type,
                              const std::string& node, const Value& input) {
  auto model = testing::ModelFromText(absl::StrCat("g (", input_type, " x) => (", output_type,
                                                   " y) { y = ai.onnx.ml.", node, " }"));
  if (!model.ok()) return model.status();
  auto session = Session::Create(*std::move(model));
  if (!session.ok()) return session.status();
  std::vector<Value> outputs(1);
  const absl::Status status = (*session)->Run({&input, 1}, absl::MakeSpan(outputs));
  if (!status.ok()) return status;
  return outputs[0];
}

template <typename Key, typename T>
Value MapOf(const std::vector<std::pair<Key, T>>& entries) {
  std::map<Key, Tensor> map;
  for (const auto& [key, value] : entries) map.emplace(key, Tensor::Of<T>({}, {value}));
  return Value(MapData(std::move(map)));
}

const Value kFloats = MapOf<int64_t, float>({{3, 1.5f}, {0, -2.75f}, {1, 1e10f}});

TEST(CastMapTest, DenseKeepsTheOrderOfKeys) {
  const auto y = RunNode("map(int64, float)", "float[1,N]", "CastMap(x)", kFloats);
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ(y->tensor().dims(), DimsView({1, 3}));
  EXPECT_THAT(y->tensor().span<float>(), ElementsAre(-2.75f, 1e10f, 1.5f));
}

TEST(CastMapTest, SparsePutsValuesAtTheirKeys) {
  const auto y =
      RunNode("map(int64, float)", "int64[1,5]",
              "CastMap<cast_to=\"TO_INT64\", map_form=\"SPARSE\", max_map=5>(x)", kFloats);
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_THAT(y->tensor().span<int64_t>(), ElementsAre(-2, 10000000000, 0, 1, 0));
}

TEST(CastMapTest, NumbersAsText) {
  const auto y =
      RunNode("map(int64, float)", "string[1,4]",
              "CastMap<cast_to=\"TO_STRING\", map_form=\"SPARSE\", max_map=4>(x)", kFloats);
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_THAT(y->tensor().span<std::string>(),
              ElementsAre("-2.750000", "10000000000.000000", "0.f", "1.500000"));
}

TEST(CastMapTest, TextAsNumbers) {
  const Value texts = MapOf<int64_t, std::string>({{1, "2.5"}, {-4, "1e3"}});
  const auto y = RunNode("map(int64, string)", "float[1,N]", "CastMap(x)", texts);
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_THAT(y->tensor().span<float>(), ElementsAre(1000.0f, 2.5f));
  const auto bad = RunNode("map(int64, string)", "float[1,N]", "CastMap(x)",
                           MapOf<int64_t, std::string>({{1, "abc"}}));
  EXPECT_THAT(std::string(bad.status().message()), HasSubstr("'abc' is not a number"));
}

TEST(CastMapTest, RefusesKeysBeyondMaxMap) {
  const auto y = RunNode("map(int64, float)", "float[1,2]",
                         "CastMap<map_form=\"SPARSE\", max_map=2>(x)", kFloats);
  EXPECT_THAT(std::string(y.status().message()), HasSubstr("key 3 is out of range for max_map 2"));
}

TEST(CastMapTest, EmptyMap) {
  const auto y =
      RunNode("map(int64, float)", "float[1,N]", "CastMap(x)", MapOf<int64_t, float>({}));
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ(y->tensor().dims(), DimsView({1, 0}));
}

TEST(DictVectorizerTest, VocabularyOrdersTheValues) {
  const auto strings = RunNode("map(string, float)", "float[1,3]",
                               "DictVectorizer<string_vocabulary=[\"c\", \"b\", \"a\"]>(x)",
                               MapOf<std::string, float>({{"a", 1.0f}, {"c", 3.0f}, {"z", 9.0f}}));
  ASSERT_TRUE(strings.ok()) << strings.status();
  EXPECT_THAT(strings->tensor().span<float>(), ElementsAre(3, 0, 1));
  const auto texts =
      RunNode("map(int64, string)", "string[1,3]", "DictVectorizer<int64_vocabulary=[5, 2, 1]>(x)",
              MapOf<int64_t, std::string>({{1, "x"}, {5, "y"}}));
  ASSERT_TRUE(texts.ok()) << texts.status();
  EXPECT_THAT(texts->tensor().span<std::string>(), ElementsAre("y", "", "x"));
  const auto doubles =
      RunNode("map(int64, double)", "double[1,2]", "DictVectorizer<int64_vocabulary=[1, 7]>(x)",
              MapOf<int64_t, double>({{1, 0.5}}));
  ASSERT_TRUE(doubles.ok()) << doubles.status();
  EXPECT_THAT(doubles->tensor().span<double>(), ElementsAre(0.5, 0));
}

TEST(ZipMapTest, OneMapPerRow) {
  const Value x = Value(Tensor::Of<float>({2, 2}, {1, 2, 3, 4}));
  const auto y = RunNode("float[N,2]", "seq(map(string, float))",
                         "ZipMap<classlabels_strings=[\"b\", \"a\"]>(x)", x);
  ASSERT_TRUE(y.ok()) << y.status();
  ASSERT_EQ(y->sequence().size(), 2u);
  const auto& second = std::get<std::map<std::string, Tensor>>(y->sequence()[1].map());
  ASSERT_EQ(second.size(), 2u);
  EXPECT_EQ(*second.at("b").data<float>(), 3);
  EXPECT_EQ(*second.at("a").data<float>(), 4);
}

TEST(ZipMapTest, VectorIsOneRow) {
  const auto y =
      RunNode("float[2]", "seq(map(int64, float))", "ZipMap<classlabels_int64s=[7, 3]>(x)",
              Value(Tensor::Of<float>({2}, {1, 2})));
  ASSERT_TRUE(y.ok()) << y.status();
  ASSERT_EQ(y->sequence().size(), 1u);
  const auto& map = std::get<std::map<int64_t, Tensor>>(y->sequence()[0].map());
  EXPECT_EQ(*map.at(3).data<float>(), 2);
}

TEST(ZipMapTest, RefusesAnotherNumberOfLabels) {
  const auto y =
      RunNode("float[N]", "seq(map(int64, float))", "ZipMap<classlabels_int64s=[7, 3, 1]>(x)",
              Value(Tensor::Of<float>({2}, {1, 2})));
  EXPECT_THAT(std::string(y.status().message()), HasSubstr("X has shape [2], there are 3 labels"));
}

}  // namespace
}  // namespace onward::executors
