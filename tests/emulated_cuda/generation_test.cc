// Decoders on the device: their caches stay there.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "generation/decoder_slots.h"
#include "onward/generation/decoder.h"
#include "tests/emulated_cuda/device.h"
#include "tests/generation/decoder_models.h"

namespace onward::emulated_cuda {
namespace {

using generation::Decoder;
using generation::DecoderSlots;
using generation::Scores;
using testing::ExportedModel;
using testing::Form;
using testing::GptModel;
using testing::Positions;

SessionOptions OptionsOf(const std::string& provider) {
  SessionOptions options;
  options.provider = provider;
  options.num_threads = 1;
  return options;
}

std::unique_ptr<Decoder> DecoderOn(const std::string& provider, Model model) {
  auto decoder = Decoder::Create(std::move(model), OptionsOf(provider));
  EXPECT_TRUE(decoder.ok()) << decoder.status();
  return decoder.ok() ? *std::move(decoder) : nullptr;
}

void ExpectNear(const std::vector<float>& actual, const std::vector<float>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    ASSERT_NEAR(actual[i], expected[i], 1e-4 * (1 + std::fabs(expected[i]))) << i;
}

void ExpectEqualScores(const absl::StatusOr<Scores>& actual,
                       const absl::StatusOr<Scores>& expected) {
  ASSERT_TRUE(actual.ok() && expected.ok()) << actual.status() << expected.status();
  ASSERT_EQ(actual->size(), expected->size());
  for (size_t row = 0; row < actual->size(); ++row) ExpectNear((*actual)[row], (*expected)[row]);
}

// Decoders whose caches are written in place, and whose caches grow.
class DeviceGenerationTest : public ::testing::TestWithParam<Model (*)()> {
 protected:
  void SetUp() override { Configure({.order = Order::kLate}); }
  void TearDown() override { Configure({}); }
};

TEST_P(DeviceGenerationTest, ScoresAreTheCpus) {
  const auto device = DecoderOn("cuda", GetParam()()), host = DecoderOn("cpu", GetParam()());
  ASSERT_TRUE(device != nullptr && host != nullptr);
  const std::vector<int64_t> prompt = {5, 7, 11};
  ExpectEqualScores(device->Begin(prompt), host->Begin(prompt));
  for (int64_t token = 0; token < 20; ++token) {
    SCOPED_TRACE(token);
    ExpectEqualScores(device->Next({token % 13}, {0}), host->Next({token % 13}, {0}));
  }
  // Rows branch, as those of a beam search do.
  for (const std::vector<int>& parents : {std::vector<int>{0, 0}, {1, 0}, {0, 1}}) {
    ExpectEqualScores(device->Next({3, 9}, parents), host->Next({3, 9}, parents));
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, DeviceGenerationTest,
                         ::testing::Values(
                             +[] { return GptModel(Form::kCache); },
                             +[] { return GptModel(Form::kOneByOne); },
                             +[] { return GptModel(Form::kWhole); },
                             +[] { return ExportedModel(Positions::kPast, false); },
                             +[] { return ExportedModel(Positions::kInput, true); },
                             +[] { return ExportedModel(Positions::kMask, true); }));

TEST(DeviceGeneration, AStepSendsTokensAndFetchesScores) {
  Configure({.order = Order::kLate});
  const auto decoder = DecoderOn("cuda", GptModel(Form::kCache));
  ASSERT_NE(decoder, nullptr);
  ASSERT_TRUE(decoder->signature().past_length.has_value()) << "the caches are written in place";
  ASSERT_TRUE(decoder->Begin({5, 7, 11}).ok());
  for (int64_t token = 0; token < 4; ++token) ASSERT_TRUE(decoder->Next({token}, {0}).ok());
  ResetCounters();
  ASSERT_TRUE(decoder->Next({4}, {0}).ok());
  const Counters counted = Counted();
  EXPECT_EQ(counted.copies_to_host, 1) << "the scores";
  EXPECT_LE(counted.copies_to_device, 3) << "token, position, length";
  EXPECT_EQ(counted.allocations, 0);
  EXPECT_EQ(counted.graphs, 0);
  EXPECT_EQ(counted.graph_launches, 1);
  EXPECT_EQ(counted.heuristics, 0);
  EXPECT_EQ(counted.descriptors, 0);
  Configure({});
}

TEST(DeviceGeneration, RowsOfAServerAreTheCpus) {
  Configure({.order = Order::kLate});
  std::vector<std::vector<float>> scores[2];
  for (const std::string provider : {"cpu", "cuda"}) {
    auto slots = DecoderSlots::Create(GptModel(Form::kCache), OptionsOf(provider), 32, 3);
    ASSERT_TRUE(slots.ok()) << slots.status();
    const auto see = [&](size_t, size_t, absl::Span<float> all) {
      scores[provider == "cuda"].emplace_back(all.begin(), all.end());
    };
    const std::vector<int64_t> first = {1, 2, 3, 4, 5}, second = {6, 7};
    for (const absl::Status& status : (*slots)->Read({{{0, first}, {2, second}}}, see))
      ASSERT_TRUE(status.ok()) << status;
    for (int64_t token = 0; token < 4; ++token) {
      for (const absl::Status& status :
           (*slots)->Read({{{0, absl::MakeSpan(&token, 1)}, {2, absl::MakeSpan(&token, 1)}}}, see))
        ASSERT_TRUE(status.ok()) << status;
    }
    (*slots)->Cut(0, 3);
    const int64_t next = 12;
    for (const absl::Status& status : (*slots)->Read({{{0, absl::MakeSpan(&next, 1)}}}, see))
      ASSERT_TRUE(status.ok()) << status;
  }
  ASSERT_EQ(scores[0].size(), scores[1].size());
  for (size_t i = 0; i < scores[0].size(); ++i) ExpectNear(scores[1][i], scores[0][i]);
  Configure({});
}

}  // namespace
}  // namespace onward::emulated_cuda
