#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onward/dataset.h"
#include "training/data/collate.h"

namespace onward::training {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<const Dataset> Letters() {
  return *TensorDataset({{"x", Tensor::Of<float>({3, 2}, {0, 1, 2, 3, 4, 5})},
                         {"name", Tensor::Of<std::string>({3}, {"a", "b", "c"})}});
}

std::string Name(const Dataset& data, int64_t index) {
  return data.Read(index, 0)->at(1).data<std::string>()[0];
}

TEST(ViewsTest, TensorsInMemory) {
  const auto data = Letters();
  EXPECT_EQ(data->size(), 3);
  EXPECT_EQ(data->fields()[0].type.ToString(), "float32[2]");
  EXPECT_TRUE(SameBits(data->Read(1, 0)->at(0), Tensor::Of<float>({2}, {2, 3})));
  EXPECT_EQ(Name(*data, 2), "c");
  const auto uneven = TensorDataset(
      {{"x", Tensor(DType::kFloat32, Dims{3})}, {"y", Tensor(DType::kFloat32, Dims{2})}});
  EXPECT_THAT(std::string(uneven.status().message()), HasSubstr("'y' has 2 rows, 'x' has 3"));
  EXPECT_FALSE(TensorDataset({{"x", Tensor(DType::kFloat32, Dims{})}}).ok());
}

TEST(ViewsTest, SubsetAndSplit) {
  const auto subset = Subset(Letters(), {2, 0, 2});
  ASSERT_TRUE(subset.ok());
  EXPECT_EQ((*subset)->size(), 3);
  EXPECT_EQ(Name(**subset, 0) + Name(**subset, 1) + Name(**subset, 2), "cac");
  EXPECT_EQ(Subset(Letters(), {3}).status().code(), absl::StatusCode::kOutOfRange);
  const auto parts = RandomSplit(Letters(), {1, 2}, 4);
  ASSERT_TRUE(parts.ok());
  std::string all = Name(*(*parts)[0], 0) + Name(*(*parts)[1], 0) + Name(*(*parts)[1], 1);
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, "abc");
  EXPECT_THAT(std::string(RandomSplit(Letters(), {2, 2}, 4).status().message()),
              HasSubstr("a part of 2 examples where 1 are left"));
}

TEST(ViewsTest, MapAndFilter) {
  const auto doubled = Map(Letters(), {{"y", Type::Tensor(DType::kFloat32, Dims{2})}},
                           [](Example example, uint64_t random) -> absl::StatusOr<Example> {
                             const float* x = example[0].data<float>();
                             const auto shift = static_cast<float>(random);
                             return Example{Tensor::Of<float>({2}, {2 * x[0] + shift, 2 * x[1]})};
                           });
  EXPECT_TRUE(SameBits(doubled->Read(1, 100)->at(0), Tensor::Of<float>({2}, {104, 6})));
  const auto kept =
      Filter(Letters(), [](const Example& example) { return example[0].data<float>()[0] > 1; });
  ASSERT_TRUE(kept.ok());
  EXPECT_EQ((*kept)->size(), 2);
  EXPECT_EQ(Name(**kept, 0), "b");
}

TEST(ViewsTest, StackPadsToTheLargest) {
  const std::vector<Tensor> ragged = {Tensor::Of<int32_t>({1, 2}, {1, 2}),
                                      Tensor::Of<int32_t>({2, 1}, {3, 4}),
                                      Tensor(DType::kInt32, Dims{0, 1})};
  const double pad = -1;
  const auto batch = Stack(ragged, &pad);
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_TRUE(SameBits(
      *batch, Tensor::Of<int32_t>({3, 2, 2}, {1, 2, -1, -1, 3, -1, 4, -1, -1, -1, -1, -1})));
  EXPECT_THAT(std::string(Stack(ragged, nullptr).status().message()),
              HasSubstr("[1,2] and [2,1] cannot form a batch"));
  const double large = 1e30;
  const auto clipped = Stack({Tensor(DType::kInt8, Dims{0}), Tensor::Of<int8_t>({1}, {5})}, &large);
  ASSERT_TRUE(clipped.ok());
  EXPECT_EQ(clipped->data<int8_t>()[0], 127);
  EXPECT_FALSE(Stack({Tensor(DType::kInt8, Dims{1}), Tensor(DType::kInt16, Dims{1})}, &pad).ok());
  EXPECT_FALSE(
      Stack({Tensor(DType::kString, Dims{1}), Tensor(DType::kString, Dims{2})}, &pad).ok());
  const auto strings =
      Stack({Tensor::Scalar<std::string>("a"), Tensor::Scalar<std::string>("b")}, nullptr);
  ASSERT_TRUE(strings.ok());
  EXPECT_TRUE(SameBits(*strings, Tensor::Of<std::string>({2}, {"a", "b"})));
}

}  // namespace
}  // namespace onward::training
