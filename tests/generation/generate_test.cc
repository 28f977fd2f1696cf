// Generation gives the tokens that transformers gives (make_cases.py), with a cache and without.
#include "onward/generation/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "tests/generation/decoder_models.h"

namespace onward::generation {
namespace {

using testing::Form;
using ::testing::HasSubstr;

const std::string kFolder = absl::StrCat(ONWARD_SOURCE_DIR, "/tests/generation/");

const nlohmann::json& Golden() {
  static const auto* const cases = [] {
    std::ifstream file(kFolder + "cases.json");
    return new nlohmann::json(nlohmann::json::parse(file));
  }();
  return *cases;
}

std::unique_ptr<Decoder> Gpt(Form form, int64_t context = 0) {
  Model model = testing::GptModel(form);
  if (form == Form::kFixed || form == Form::kFixedOneByOne) {
    auto decoder = Decoder::Create(std::move(model), SessionOptions(), context);
    EXPECT_TRUE(decoder.ok()) << decoder.status();
    EXPECT_TRUE((*decoder)->signature().past_length.has_value());
    return *std::move(decoder);
  }
  auto session = Session::Create(std::move(model));
  EXPECT_TRUE(session.ok()) << session.status();
  auto decoder = Decoder::Create(*std::move(session), context);
  EXPECT_TRUE(decoder.ok()) << decoder.status();
  return *std::move(decoder);
}

class GenerateTest : public ::testing::TestWithParam<Form> {};

TEST_P(GenerateTest, TokensAreTransformers) {
  const auto decoder = Gpt(GetParam());
  for (const auto& each : Golden()["generations"]) {
    const auto& options = each["options"];
    const auto prompt = each["prompt"].get<std::vector<int64_t>>();
    const auto stops = options.value("stop", std::vector<int64_t>());
    const double penalty = options.value("repetition_penalty", 1.0);
    const int64_t beams = options.value("beams", 0);
    if (beams == 0) {
      GenerateOptions generate;
      generate.max_new_tokens = 12;
      generate.stop_tokens = stops;
      generate.sampling.repetition_penalty = penalty;
      const auto made = Generate(*decoder, prompt, generate);
      ASSERT_TRUE(made.ok()) << made.status();
      EXPECT_EQ(made->tokens, each["ids"].get<std::vector<int64_t>>()) << each;
      EXPECT_EQ(made->finish, made->tokens.size() == 12 ? Finish::kLength : Finish::kStop);
      continue;
    }
    const BeamOptions search = {beams, options["length_penalty"].get<double>(),
                                options.value("early_stopping", false)};
    const auto found = BeamSearch(*decoder, prompt, 12, stops, search, penalty);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ((*found)[0].tokens, each["ids"].get<std::vector<int64_t>>()) << each;
    if (each.contains("score")) {
      EXPECT_NEAR((*found)[0].score, each["score"].get<double>(), 1e-4) << each;
    }
  }
}

std::string NameOf(const ::testing::TestParamInfo<Form>& form) {
  constexpr const char* kNames[] = {"Whole", "Cache", "OneByOne", "Fixed", "FixedOneByOne"};
  return kNames[static_cast<int>(form.param)];
}

INSTANTIATE_TEST_SUITE_P(Forms, GenerateTest,
                         ::testing::Values(Form::kWhole, Form::kCache, Form::kOneByOne,
                                           Form::kFixed, Form::kFixedOneByOne),
                         NameOf);

TEST(Generate, DrawsAreRepeatable) {
  const auto decoder = Gpt(Form::kCache);
  GenerateOptions options;
  options.sampling.greedy = false;
  const auto draw = [&](uint64_t seed) {
    options.seed = seed;
    const auto made = Generate(*decoder, {4, 2}, options);
    EXPECT_TRUE(made.ok()) << made.status();
    return made->tokens;
  };
  EXPECT_EQ(draw(1), draw(1));
  EXPECT_NE(draw(1), draw(2));
}

// More tokens than a cache has room for at first.
TEST(Generate, FixedCachesGrow) {
  GenerateOptions options;
  options.max_new_tokens = 29;
  const auto grown = Generate(*Gpt(Form::kFixed), {4, 2, 9}, options);
  ASSERT_TRUE(grown.ok()) << grown.status();
  const auto decoder = Gpt(Form::kWhole);
  std::vector<int64_t> tokens = {4, 2, 9};
  for (const int64_t token : grown->tokens) {
    const auto scores = decoder->Begin(tokens);
    ASSERT_TRUE(scores.ok()) << scores.status();
    EXPECT_EQ(Best((*scores)[0]), token);
    tokens.push_back(token);
  }
}

TEST(Generate, StreamsAndStopsForItsCaller) {
  const auto decoder = Gpt(Form::kWhole);
  GenerateOptions options;
  std::vector<int64_t> seen;
  options.on_token = [&](int64_t token) {
    seen.push_back(token);
    return seen.size() < 3;
  };
  const auto made = Generate(*decoder, {1}, options);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->tokens, seen);
  EXPECT_EQ(made->tokens.size(), 3u);
  EXPECT_EQ(made->finish, Finish::kCaller);
}

// A cache that is full ends the text; a model that sees everything continues with the last tokens.
TEST(Generate, EndsWithTheContext) {
  GenerateOptions options;
  options.max_new_tokens = 10;
  const auto cached = Generate(*Gpt(Form::kCache, 6), {1, 2, 3}, options);
  ASSERT_TRUE(cached.ok()) << cached.status();
  EXPECT_EQ(cached->tokens.size(), 4u);
  EXPECT_EQ(cached->finish, Finish::kContext);
  const auto whole = Generate(*Gpt(Form::kWhole, 6), {1, 2, 3}, options);
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ(whole->tokens.size(), 10u);
  EXPECT_EQ(std::vector<int64_t>(whole->tokens.begin(), whole->tokens.begin() + 4), cached->tokens);
  const auto decoder = Gpt(Form::kWhole, 6);
  std::vector<int64_t> last = {1, 2, 3};
  last.insert(last.end(), whole->tokens.begin(), whole->tokens.end() - 1);
  last.erase(last.begin(), last.end() - 6);
  const auto scores = decoder->Begin(last);
  ASSERT_TRUE(scores.ok()) << scores.status();
  EXPECT_EQ(Best((*scores)[0]), whole->tokens.back());
}

TEST(Generate, RefusesWhatCannotBe) {
  const auto decoder = Gpt(Form::kCache, 6);
  const auto message = [&](const std::vector<int64_t>& prompt, const GenerateOptions& options) {
    return std::string(Generate(*decoder, prompt, options).status().message());
  };
  EXPECT_THAT(message({}, {}), HasSubstr("the prompt is empty"));
  EXPECT_THAT(message({3, 13}, {}), HasSubstr("token 13 is not in the model's vocabulary of 13"));
  EXPECT_THAT(message({-1}, {}), HasSubstr("token -1 is not in"));
  EXPECT_THAT(message({1, 2, 3, 4, 5, 6, 7}, {}),
              HasSubstr("the prompt has 7 tokens, the model's context is 6"));
  GenerateOptions options;
  options.max_new_tokens = 0;
  EXPECT_THAT(message({1}, options), HasSubstr("max_new_tokens is 0"));
  const auto with = [](const SamplingOptions& sampling) {
    GenerateOptions made;
    made.sampling = sampling;
    return made;
  };
  EXPECT_THAT(message({1}, with({.temperature = 0})), HasSubstr("temperature is 0"));
  EXPECT_THAT(message({1}, with({.temperature = NAN})), HasSubstr("temperature is nan"));
  EXPECT_THAT(message({1}, with({.top_k = -1})), HasSubstr("top_k is -1"));
  EXPECT_THAT(message({1}, with({.top_p = 1.5})), HasSubstr("top_p is 1.5"));
  EXPECT_THAT(message({1}, with({.repetition_penalty = 0})), HasSubstr("repetition_penalty is 0"));
  EXPECT_THAT(std::string(BeamSearch(*decoder, {1}, 5, {}, {.beams = 0}).status().message()),
              HasSubstr("beams is 0"));
  EXPECT_THAT(std::string(decoder->Next({1}, {4}).status().message()), HasSubstr("no row 4"));
}

}  // namespace
}  // namespace onward::generation
