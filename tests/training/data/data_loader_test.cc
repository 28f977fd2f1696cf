#include "onward/data_loader.h"

#include <algorithm>
#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onward::training {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::shared_ptr<const Dataset> Numbers(int64_t count) {
  Tensor x(DType::kInt64, {count});
  std::iota(x.mutable_data<int64_t>(), x.mutable_data<int64_t>() + count, 0);
  return *TensorDataset({{"x", x}});
}

// Example i has i + 1 elements; example 2 cannot be read.
class Lengths : public Dataset {
 public:
  int64_t size() const override { return 4; }
  const std::vector<Field>& fields() const override { return fields_; }
  absl::StatusOr<std::vector<Tensor>> Read(int64_t index, uint64_t) const override {
    if (index == 2) return absl::DataLossError("record 2 is broken");
    Tensor x(DType::kInt64, {index + 1});
    std::fill_n(x.mutable_data<int64_t>(), index + 1, 7);
    return std::vector<Tensor>{x};
  }

 private:
  std::vector<Field> fields_ = {{"x", Type::Tensor(DType::kInt64, {ParseDim("length")})}};
};

std::vector<int64_t> Next(DataLoader& loader) {
  const auto batch = loader.Next();
  EXPECT_TRUE(batch.ok()) << batch.status();
  const auto x = batch->at("x").span<int64_t>();
  return {x.begin(), x.end()};
}

TEST(DataLoaderTest, EpochsFollowEachOther) {
  for (const int workers : {0, 2}) {
    const auto loader = DataLoader::Create(Numbers(5), {.batch_size = 2, .workers = workers});
    ASSERT_TRUE(loader.ok()) << loader.status();
    EXPECT_EQ((*loader)->batches_per_epoch(), 3);
    for (int epoch = 0; epoch < 2; ++epoch) {
      EXPECT_EQ((*loader)->epoch(), epoch);
      EXPECT_EQ((*loader)->batch(), 0);
      EXPECT_THAT(Next(**loader), ElementsAre(0, 1));
      EXPECT_THAT(Next(**loader), ElementsAre(2, 3));
      EXPECT_THAT(Next(**loader), ElementsAre(4));
    }
  }
}

TEST(DataLoaderTest, ShufflesBySeedAndSeeks) {
  const DataLoaderOptions options{.batch_size = 4, .shuffle = true, .drop_last = true, .seed = 3};
  const auto one = DataLoader::Create(Numbers(50), options);
  const auto other = DataLoader::Create(Numbers(50), options);
  ASSERT_TRUE(one.ok() && other.ok());
  std::vector<std::vector<int64_t>> batches;
  for (int i = 0; i < 24; ++i) batches.push_back(Next(**one));
  for (int epoch = 0; epoch < 2; ++epoch) {
    std::vector<int64_t> seen;
    for (int i = 0; i < 12; ++i)
      seen.insert(seen.end(), batches[12 * epoch + i].begin(), batches[12 * epoch + i].end());
    EXPECT_FALSE(std::is_sorted(seen.begin(), seen.end()));
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end());
    EXPECT_EQ(seen.size(), 48u);
  }
  EXPECT_NE(batches[0], batches[12]);
  ASSERT_TRUE((*other)->Seek(1, 5).ok());
  EXPECT_EQ(Next(**other), batches[17]);
}

TEST(DataLoaderTest, PadsAndLeavesOutWhatIsBroken) {
  DataLoaderOptions options{.batch_size = 4, .skip_broken = true};
  const auto ragged = DataLoader::Create(std::make_shared<Lengths>(), options);
  ASSERT_TRUE(ragged.ok()) << ragged.status();
  EXPECT_FALSE((*ragged)->Next().ok());
  options.pad = {{"x", -1}};
  const auto padded = DataLoader::Create(std::make_shared<Lengths>(), options);
  ASSERT_TRUE(padded.ok()) << padded.status();
  EXPECT_THAT(Next(**padded), ElementsAre(7, -1, -1, -1, 7, 7, -1, -1, 7, 7, 7, 7));
  options.skip_broken = false;
  const auto strict = DataLoader::Create(std::make_shared<Lengths>(), options);
  ASSERT_TRUE(strict.ok()) << strict.status();
  EXPECT_THAT((*strict)->Next().status().message(), HasSubstr("record 2 is broken"));
}

TEST(DataLoaderTest, Refusals) {
  const auto error = [](const std::shared_ptr<const Dataset>& data, DataLoaderOptions options) {
    const auto loader = DataLoader::Create(data, options);
    return loader.ok() ? "OK" : std::string(loader.status().message());
  };
  EXPECT_THAT(error(nullptr, {}), HasSubstr("no data set is given"));
  EXPECT_NE(error(Numbers(5), {.batch_size = 0}), "OK");
  EXPECT_NE(error(Numbers(5), {.batch_size = 2, .weights = {1, 2}}), "OK");
  EXPECT_THAT(error(Numbers(5), {.batch_size = 6, .drop_last = true}),
              HasSubstr("does not fill a batch of 6"));
  const auto loader = DataLoader::Create(Numbers(5), {.batch_size = 2});
  ASSERT_TRUE(loader.ok());
  for (const auto& [epoch, batch] : {std::pair{-1, 0}, {0, -1}, {0, 3}})
    EXPECT_TRUE(absl::IsOutOfRange((*loader)->Seek(epoch, batch))) << epoch << " " << batch;
}

}  // namespace
}  // namespace onward::training
