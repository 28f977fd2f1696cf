// Memory of trainings whose batches have many sizes: which lengths meet in which batch is known
// before.
#include "tests/training/trainer_memory_fixture.h"
#include "training/data/batch_sizes.h"

namespace onward::training {
namespace {

using testing::Parsed;
using testing::TrainerMemoryTest;

constexpr char kModel[] =
    R"(built { name: "gpt" options { key: "vocabulary" value: 50 }
               options { key: "layers" value: 2 } options { key: "width" value: 64 }
               options { key: "heads" value: 2 } options { key: "context" value: 64 } }
       optimizer { adamw { lr: 1e-3 } } seed: 1 threads: 2
       loss { cross_entropy { class_axis: -1 } } )";

std::string Lines(const char* more = "") {
  return absl::StrCat(R"(data {
      jsonl { path: "lines.jsonl" field { name: "tokens" element: INT64 dim: -1 }
              field { name: "label" element: INT64 dim: -1 } }
      pad { key: "tokens" value: 0 } pad { key: "label" value: -100 } )",
                      more, " } ");
}

TEST_F(TrainerMemoryTest, ExamplesOfDifferentLengths) {
  for (const char* more :
       {"batch_size: 4 epochs: 1", "batch_size: 4 steps: 2", "batch_size: 7 epochs: 2",
        "batch_size: 4 epochs: 1 accumulate: 3", "batch_size: 1 epochs: 1"}) {
    ExpectPlanned(Parsed(absl::StrCat(kModel, more, " ", Lines())));
  }
}

TEST_F(TrainerMemoryTest, LengthsInTheOrderOfTheDataAndOfWeights) {
  ExpectPlanned(Parsed(absl::StrCat(kModel, "batch_size: 4 steps: 3 ", Lines("shuffle: false"))));
  ExpectPlanned(Parsed(absl::StrCat(kModel, "batch_size: 4 epochs: 3 ",
                                    Lines("shuffle: false drop_last: false workers: 0"))));
}

TEST_F(TrainerMemoryTest, EvaluationsOfDifferentLengths) {
  ExpectPlanned(
      Parsed(absl::StrCat(kModel, "batch_size: 4 steps: 6 ", Lines(), "evaluation { batch_size: 9 ",
                          "every_steps: 3 ", Lines(), "}")));
}

// Every batch that the loader makes has the dims that were foreseen, and the largest are among
// them.
TEST_F(TrainerMemoryTest, SizesOfBatchesAreThoseOfTheLoader) {
  DataConfig config;
  ASSERT_TRUE(google::protobuf::TextFormat::MergeFromString(
      R"(jsonl { path: "lines.jsonl" field { name: "tokens" element: INT64 dim: -1 }
                 field { name: "label" element: INT64 dim: -1 } }
         pad { key: "tokens" value: 0 } pad { key: "label" value: 0 })",
      &config));
  const auto data = OpenDataset(config, scratch_.path());
  ASSERT_TRUE(data.ok()) << data.status();
  for (const bool shuffle : {false, true}) {
    for (const int64_t batch_size : {1, 5, 16, 64}) {
      for (const bool weighted : {false, true}) {
        SCOPED_TRACE(absl::StrCat("shuffle ", shuffle, ", batch_size ", batch_size, ", weighted ",
                                  weighted));
        auto options = OptionsOf(config, **data, true);
        ASSERT_TRUE(options.ok());
        options->shuffle = shuffle;
        options->drop_last = false;
        options->batch_size = batch_size;
        options->seed = 11;
        if (weighted) {
          for (int64_t i = 0; i < (*data)->size(); ++i)
            options->weights.push_back(static_cast<double>(i % 3));
        }
        const auto loader = Loader::Create(*data, *options);
        ASSERT_TRUE(loader.ok()) << loader.status();
        const int64_t count = 3 * (*loader)->batches_per_epoch() + 1;
        std::vector<Batch> batches;
        std::set<std::map<std::string, Dims>> kinds;
        std::vector<int64_t> bytes;
        for (int64_t i = 0; i < count + 2; ++i) {
          batches.push_back(*(*loader)->Next());
          bytes.push_back(0);
          std::map<std::string, Dims> kind;
          for (const auto& [name, tensor] : batches.back()) {
            kind[name].assign(tensor.dims().begin(), tensor.dims().end());
            bytes.back() += tensor.byte_size();
          }
          if (i < count) kinds.insert(kind);
        }
        const auto sizes = SizesOfBatches(**data, *options, batches[0], count, 2);
        ASSERT_TRUE(sizes.ok()) << sizes.status();
        EXPECT_EQ(sizes->kinds, static_cast<int64_t>(kinds.size()));
        for (size_t i = 0; i < std::min(bytes.size(), sizes->bytes.size()); ++i)
          EXPECT_EQ(sizes->bytes[i], bytes[i]) << i;
        EXPECT_EQ(sizes->LargestBytesInARow(1), *std::max_element(bytes.begin(), bytes.end()));
        int64_t three = 0;
        for (size_t i = 2; i < bytes.size(); ++i)
          three = std::max(three, bytes[i] + bytes[i - 1] + bytes[i - 2]);
        EXPECT_EQ(sizes->LargestBytesInARow(3), three);
        for (const SizedBatch& large : sizes->largest) {
          ASSERT_TRUE(large.position.has_value());
          (*loader)->Seek(large.position->epoch, large.position->batch);
          const auto read = (*loader)->Next();
          ASSERT_TRUE(read.ok());
          for (const auto& [name, tensor] : *read)
            EXPECT_EQ(tensor.dims(), large.batch.at(name).dims()) << name;
        }
      }
    }
  }
}

}  // namespace
}  // namespace onward::training
