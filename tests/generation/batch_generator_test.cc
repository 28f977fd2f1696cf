// Texts of a batch are those that Generate makes of them alone, whoever else is there.
#include "onward/generation/batch_generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/generation/decoder_models.h"

namespace onward::generation {
namespace {

using ::testing::ElementsAre;
using testing::ExportedModel;
using testing::Form;
using testing::GptModel;
using ::testing::HasSubstr;
using testing::Positions;

struct Kind {
  const char* name;
  Model (*model)();
};

const Kind kKinds[] = {
    {"Whole", [] { return GptModel(Form::kWhole); }},
    {"InPlace", [] { return GptModel(Form::kCache); }},
    {"OneByOne", [] { return GptModel(Form::kOneByOne); }},
    {"Exported", [] { return ExportedModel(Positions::kInput, true); }},
    {"PositionsOfTheMask", [] { return ExportedModel(Positions::kMask, true); }},
    {"PositionsOfThePast", [] { return ExportedModel(Positions::kPast, true); }},
    {"Window", [] { return ExportedModel(Positions::kInput, true, {.window = 6}); }},
    {"Tables", [] { return ExportedModel(Positions::kInput, true, {.tables = true}); }},
    {"CopiedCaches", [] { return ExportedModel(Positions::kInput, true, {.reads_past = true}); }},
    {"NoMask", [] { return ExportedModel(Positions::kPast, false); }},
};

struct Ended {
  std::vector<int64_t> tokens;
  absl::StatusOr<Finish> finish = absl::UnknownError("it has not ended");
};

TextRequest Asking(std::vector<int64_t> prompt, Ended& ended, GenerateOptions options = {}) {
  TextRequest request;
  request.prompt = std::move(prompt);
  request.options = std::move(options);
  request.on_token = [&ended](const TextToken& token) {
    EXPECT_FALSE(token.in_prompt);
    ended.tokens.push_back(token.id);
    return true;
  };
  request.on_end = [&ended](absl::StatusOr<Finish> finish) {
    EXPECT_TRUE(absl::IsUnknown(ended.finish.status())) << "it ends twice";
    ended.finish = std::move(finish);
  };
  return request;
}

std::unique_ptr<BatchGenerator> Make(Model model, const BatchGeneratorOptions& options) {
  auto made = BatchGenerator::Create(std::move(model), SessionOptions(), options);
  EXPECT_TRUE(made.ok()) << made.status();
  return *std::move(made);
}

void Finishes(BatchGenerator& generator) {
  for (int steps = 0; generator.Step(); ++steps) ASSERT_LT(steps, 10000);
  EXPECT_EQ(generator.waiting() + generator.running(), 0u);
}

Generated Alone(Decoder& decoder, const TextRequest& request) {
  auto made = Generate(decoder, request.prompt, request.options);
  EXPECT_TRUE(made.ok()) << made.status();
  return *std::move(made);
}

// Prompts of many lengths, some of which begin alike; every way to choose.
std::vector<std::pair<std::vector<int64_t>, GenerateOptions>> Texts() {
  std::vector<std::pair<std::vector<int64_t>, GenerateOptions>> texts;
  for (int i = 0; i < 14; ++i) {
    std::vector<int64_t> prompt;
    for (int k = 0; k < 1 + i * 5 % 12; ++k) prompt.push_back((k * k + 3 * (i % 3) + k) % 13);
    GenerateOptions options;
    options.max_new_tokens = 1 + i * 7 % 17;
    if (i % 4 == 1) options.stop_tokens = {5, 8};
    if (i % 3 == 1) {
      options.sampling = {.greedy = false, .temperature = 1.3, .top_k = 9, .top_p = 0.95};
      options.seed = static_cast<uint64_t>(i);
    }
    if (i % 5 == 2) options.sampling.repetition_penalty = 1.4;
    texts.emplace_back(std::move(prompt), std::move(options));
  }
  return texts;
}

class BatchGeneratorTest : public ::testing::TestWithParam<Kind> {};

// `gap`: steps between one text and the next.
void ExpectTheSameAsAlone(const Kind& kind, const BatchGeneratorOptions& options, int gap) {
  SCOPED_TRACE(absl::StrCat(options.rows, " rows, ", options.prompt_tokens, " tokens, gap ", gap));
  auto decoder = Decoder::Create(kind.model(), SessionOptions(), options.context);
  ASSERT_TRUE(decoder.ok()) << decoder.status();
  const auto generator = Make(kind.model(), options);
  const auto texts = Texts();
  std::vector<Ended> ended(texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    const absl::Status added = generator->Add(Asking(texts[i].first, ended[i], texts[i].second));
    ASSERT_TRUE(added.ok()) << added;
    for (int step = 0; step < gap; ++step) generator->Step();
    EXPECT_LE(generator->running(), static_cast<size_t>(options.rows));
  }
  Finishes(*generator);
  for (size_t i = 0; i < texts.size(); ++i) {
    TextRequest request;
    request.prompt = texts[i].first;
    request.options = texts[i].second;
    const Generated alone = Alone(**decoder, request);
    EXPECT_EQ(ended[i].tokens, alone.tokens) << "text " << i;
    ASSERT_TRUE(ended[i].finish.ok()) << ended[i].finish.status();
    EXPECT_EQ(*ended[i].finish, alone.finish) << "text " << i;
  }
}

TEST_P(BatchGeneratorTest, TokensAreThoseOfATextAlone) {
  ExpectTheSameAsAlone(GetParam(), {.context = 32, .rows = 8}, 0);
  ExpectTheSameAsAlone(GetParam(), {.context = 32, .rows = 3, .prompt_tokens = 2}, 1);
  ExpectTheSameAsAlone(GetParam(), {.context = 32, .rows = 4, .prompt_tokens = 5}, 3);
  ExpectTheSameAsAlone(GetParam(), {.context = 32, .rows = 1}, 2);
}

TEST_P(BatchGeneratorTest, EndsWithTheContext) {
  ExpectTheSameAsAlone(GetParam(), {.context = 14, .rows = 5}, 1);
}

TEST_P(BatchGeneratorTest, ACancelledTextFreesItsRow) {
  const auto generator = Make(GetParam().model(), {.context = 32, .rows = 2});
  std::stop_source stop;
  Ended first, second, third, late;
  GenerateOptions options;
  options.max_new_tokens = 12;
  TextRequest request = Asking({4, 7, 2}, first, options);
  request.stop = stop.get_token();
  ASSERT_TRUE(generator->Add(std::move(request)).ok());
  ASSERT_TRUE(generator->Add(Asking({1}, second, options)).ok());
  ASSERT_TRUE(generator->Add(Asking({3}, third, options)).ok());
  request = Asking({3, 3}, late, options);
  request.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  ASSERT_TRUE(generator->Add(std::move(request)).ok());
  generator->Step();
  EXPECT_TRUE(absl::IsDeadlineExceeded(late.finish.status())) << late.finish.status();
  EXPECT_EQ(generator->running(), 2u);
  EXPECT_EQ(generator->waiting(), 1u);
  EXPECT_TRUE(third.tokens.empty());
  stop.request_stop();
  const size_t had = first.tokens.size();
  generator->Step();
  EXPECT_TRUE(absl::IsCancelled(first.finish.status())) << first.finish.status();
  EXPECT_EQ(first.tokens.size(), had);
  EXPECT_FALSE(third.tokens.empty());
  EXPECT_EQ(generator->waiting(), 0u);
  Finishes(*generator);
  EXPECT_EQ(second.tokens.size(), 12u);
  EXPECT_EQ(third.tokens.size(), 12u);
}

// The scores that Decoder gives behind each token of a text.
std::vector<std::vector<double>> LogsOf(Decoder& decoder, const std::vector<int64_t>& tokens) {
  std::vector<std::vector<double>> logs;
  for (size_t i = 1; i <= tokens.size(); ++i) {
    const auto scores = decoder.Begin(absl::MakeConstSpan(tokens).first(i));
    EXPECT_TRUE(scores.ok()) << scores.status();
    logs.push_back(LogProbabilities((*scores)[0]));
  }
  return logs;
}

TEST_P(BatchGeneratorTest, LogProbabilitiesAreTheModels) {
  const auto generator = Make(GetParam().model(), {.context = 32, .rows = 3, .prompt_tokens = 3});
  auto decoder = Decoder::Create(GetParam().model(), SessionOptions(), 32);
  ASSERT_TRUE(decoder.ok()) << decoder.status();
  std::vector<TextToken> seen;
  Ended company, ended;
  GenerateOptions options;
  options.max_new_tokens = 9;
  options.sampling.repetition_penalty = 2;
  ASSERT_TRUE(generator->Add(Asking({6, 1}, company, options)).ok());
  generator->Step();
  options.max_new_tokens = 4;
  TextRequest request = Asking({11, 3, 5, 5, 9, 0, 2, 7}, ended, options);
  request.log_probabilities = request.prompt_scores = true;
  request.top = 3;
  request.on_token = [&](const TextToken& token) {
    seen.push_back(token);
    return true;
  };
  const std::vector<int64_t> prompt = request.prompt;
  ASSERT_TRUE(generator->Add(std::move(request)).ok());
  Finishes(*generator);
  ASSERT_EQ(seen.size(), prompt.size() + 4);
  std::vector<int64_t> tokens;
  for (const TextToken& token : seen) tokens.push_back(token.id);
  EXPECT_EQ(std::vector<int64_t>(tokens.begin(), tokens.begin() + 8), prompt);
  const auto logs = LogsOf(**decoder, tokens);
  EXPECT_EQ(seen[0].log_probability, 0);
  EXPECT_TRUE(seen[0].best.empty());
  for (size_t i = 1; i < seen.size(); ++i) {
    const std::vector<double>& want = logs[i - 1];
    EXPECT_EQ(seen[i].in_prompt, i < prompt.size());
    EXPECT_NEAR(seen[i].log_probability, want[static_cast<size_t>(tokens[i])], 1e-4) << i;
    ASSERT_EQ(seen[i].best.size(), 3u);
    EXPECT_NEAR(seen[i].best[0].second, *std::max_element(want.begin(), want.end()), 1e-4) << i;
    for (const auto& [id, log] : seen[i].best)
      EXPECT_NEAR(log, want[static_cast<size_t>(id)], 1e-4) << i;
    EXPECT_GE(seen[i].best[0].second, seen[i].best[1].second);
    EXPECT_GE(seen[i].best[1].second, seen[i].best[2].second);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, BatchGeneratorTest, ::testing::ValuesIn(kKinds),
                         [](const auto& kind) { return std::string(kind.param.name); });

TEST(BatchGenerator, TokensAreTransformers) {
  std::ifstream file(absl::StrCat(ONWARD_SOURCE_DIR, "/tests/generation/cases.json"));
  const nlohmann::json cases = nlohmann::json::parse(file);
  const auto generator = Make(GptModel(Form::kCache), {.context = 32, .rows = 4});
  std::vector<std::pair<nlohmann::json, std::unique_ptr<Ended>>> texts;
  for (const auto& each : cases["generations"]) {
    if (each["options"].contains("beams")) continue;
    GenerateOptions options;
    options.max_new_tokens = 12;
    options.stop_tokens = each["options"].value("stop", std::vector<int64_t>());
    options.sampling.repetition_penalty = each["options"].value("repetition_penalty", 1.0);
    texts.emplace_back(each, std::make_unique<Ended>());
    const absl::Status added = generator->Add(
        Asking(each["prompt"].get<std::vector<int64_t>>(), *texts.back().second, options));
    ASSERT_TRUE(added.ok()) << added;
  }
  ASSERT_GT(texts.size(), 8u);
  Finishes(*generator);
  for (const auto& [each, ended] : texts)
    EXPECT_EQ(ended->tokens, each["ids"].get<std::vector<int64_t>>()) << each;
}

// One token of a prompt is read between two steps of others, unless a free row has the tokens.
TEST(BatchGenerator, ReusesWhatARowHolds) {
  const std::vector<int64_t> prompt = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  for (const bool before : {false, true}) {
    const auto generator =
        Make(GptModel(Form::kCache), {.context = 32, .rows = 3, .prompt_tokens = 1});
    Ended first, company, ended;
    if (before) {
      ASSERT_TRUE(generator->Add(Asking(prompt, first)).ok());
      Finishes(*generator);
    }
    GenerateOptions options;
    options.max_new_tokens = 25;
    ASSERT_TRUE(generator->Add(Asking({3}, company, options)).ok());
    generator->Step();
    ASSERT_TRUE(generator->Add(Asking(prompt, ended)).ok());
    int steps = 0;
    for (; ended.tokens.empty(); ++steps) ASSERT_TRUE(generator->Step());
    EXPECT_EQ(steps, before ? 1 : 9);
    Finishes(*generator);
    if (before) {
      EXPECT_EQ(ended.tokens, first.tokens);
    }
  }
}

// One text at a time, each of which reads its prompt from the start: whatever the row read before,
// scores have the same bits.
TEST_P(BatchGeneratorTest, WithoutSharedPrefixesScoresHaveTheSameBits) {
  const BatchGeneratorOptions options = {.context = 32, .rows = 1, .shares_prefixes = false};
  const auto logs = [&](const std::vector<std::vector<int64_t>>& before) {
    const auto generator = Make(GetParam().model(), options);
    std::vector<double> seen;
    const auto ask = [&](const std::vector<int64_t>& prompt) {
      Ended ended;
      GenerateOptions few;
      few.max_new_tokens = 6;
      TextRequest request = Asking(prompt, ended, few);
      request.log_probabilities = true;
      seen.clear();
      request.on_token = [&](const TextToken& token) {
        seen.push_back(token.log_probability);
        return true;
      };
      ASSERT_TRUE(generator->Add(std::move(request)).ok());
      Finishes(*generator);
      ASSERT_TRUE(ended.finish.ok()) << ended.finish.status();
    };
    for (const std::vector<int64_t>& prompt : before) ask(prompt);
    ask({1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
    return seen;
  };
  const std::vector<double> fresh = logs({});
  EXPECT_EQ(fresh.size(), 6u);
  EXPECT_EQ(logs({{1, 2, 3, 4, 5, 6, 7, 0, 0, 0, 0, 0}}), fresh);
  EXPECT_EQ(logs({{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {3}}), fresh);
}

// Only even tokens, none of which comes twice in a row.
class EvenTokens : public TokenConstraint {
 public:
  void Mask(absl::Span<float> scores) override {
    for (size_t i = 0; i < scores.size(); ++i) {
      if (i % 2 == 1 || (!taken.empty() && taken.back() == static_cast<int64_t>(i)))
        scores[i] = -INFINITY;
    }
  }
  void Take(int64_t token) override { taken.push_back(token); }

  std::vector<int64_t> taken;
};

TEST(BatchGenerator, ConstraintsNarrowTheChoice) {
  const auto generator = Make(GptModel(Form::kCache), {.context = 32, .rows = 2});
  Ended ended, free;
  GenerateOptions options;
  options.max_new_tokens = 20;
  options.sampling.greedy = false;
  TextRequest request = Asking({3, 4}, ended, options);
  const auto constraint = std::make_shared<EvenTokens>();
  request.constraint = constraint;
  ASSERT_TRUE(generator->Add(std::move(request)).ok());
  ASSERT_TRUE(generator->Add(Asking({3, 4}, free, options)).ok());
  Finishes(*generator);
  ASSERT_EQ(ended.tokens.size(), 20u);
  EXPECT_EQ(constraint->taken, ended.tokens);
  for (size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(ended.tokens[i] % 2, 0) << i;
    if (i > 0) {
      EXPECT_NE(ended.tokens[i], ended.tokens[i - 1]) << i;
    }
  }
  EXPECT_NE(free.tokens, ended.tokens);
}

TEST(BatchGenerator, CallersEndTexts) {
  const auto generator = Make(GptModel(Form::kCache), {.context = 32, .rows = 2});
  Ended ended, scored;
  TextRequest request = Asking({3, 4}, ended);
  request.on_token = [&](const TextToken& token) {
    ended.tokens.push_back(token.id);
    return ended.tokens.size() < 3;
  };
  ASSERT_TRUE(generator->Add(std::move(request)).ok());
  // A prompt may be scored alone.
  request = Asking({3, 4, 7}, scored);
  request.options.max_new_tokens = 0;
  request.log_probabilities = request.prompt_scores = true;
  request.on_token = [&](const TextToken& token) {
    EXPECT_TRUE(token.in_prompt);
    scored.tokens.push_back(token.id);
    return true;
  };
  ASSERT_TRUE(generator->Add(std::move(request)).ok());
  Finishes(*generator);
  EXPECT_EQ(ended.tokens.size(), 3u);
  EXPECT_EQ(*ended.finish, Finish::kCaller);
  EXPECT_THAT(scored.tokens, ElementsAre(3, 4, 7));
  EXPECT_EQ(*scored.finish, Finish::kLength);
}

// A model of 32 positions that does not say so fails behind them.
TEST(BatchGenerator, AfterAnErrorItWorksOn) {
  const auto generator = Make(GptModel(Form::kCache), {.rows = 2});
  Ended tall, next;
  GenerateOptions options;
  options.max_new_tokens = 100;
  ASSERT_TRUE(generator->Add(Asking({3, 4}, tall, options)).ok());
  Finishes(*generator);
  EXPECT_EQ(tall.tokens.size(), 31u);
  EXPECT_THAT(std::string(tall.finish.status().message()), HasSubstr("Gather"));
  options.max_new_tokens = 12;
  ASSERT_TRUE(generator->Add(Asking({1}, next, options)).ok());
  Finishes(*generator);
  EXPECT_THAT(next.tokens, ElementsAre(5, 7, 5, 5, 7, 7, 7, 10, 7, 6, 12, 6));  // transformers'
}

TEST(BatchGenerator, SaysWhatIsWrong) {
  const auto generator = Make(GptModel(Form::kCache), {.context = 6, .rows = 2});
  const auto message = [&](TextRequest request) {
    request.on_end = [](const absl::StatusOr<Finish>&) { ADD_FAILURE() << "it was refused"; };
    return std::string(generator->Add(std::move(request)).message());
  };
  const auto with = [](auto change) {
    TextRequest request;
    request.prompt = {1};
    change(request);
    return request;
  };
  EXPECT_THAT(message({}), HasSubstr("the prompt is empty"));
  EXPECT_THAT(message(with([](auto& r) {
                r.prompt = {3, 13};
              })),
              HasSubstr("token 13 is not in the model's vocabulary of 13"));
  EXPECT_THAT(message(with([](auto& r) { r.prompt = {1, 2, 3, 4, 5, 6, 7}; })),
              HasSubstr("the prompt has 7 tokens, the model's context is 6"));
  EXPECT_THAT(message(with([](auto& r) { r.options.max_new_tokens = 0; })),
              HasSubstr("max_new_tokens is 0, must be at least 1"));
  EXPECT_THAT(message(with([](auto& r) { r.top = -1; })), HasSubstr("top is -1"));
  EXPECT_THAT(message(with([](auto& r) { r.options.sampling.temperature = 0; })),
              HasSubstr("temperature is 0"));
  EXPECT_FALSE(generator->Step());
  const auto refusal = [](const BatchGeneratorOptions& options) {
    return std::string(BatchGenerator::Create(GptModel(Form::kCache), SessionOptions(), options)
                           .status()
                           .message());
  };
  EXPECT_THAT(refusal({.rows = 0}), HasSubstr("rows is 0, must be in [1, 4096]"));
  EXPECT_THAT(refusal({.prompt_tokens = 0}), HasSubstr("prompt_tokens is 0"));
  EXPECT_THAT(refusal({.context = -1}), HasSubstr("the context is -1 tokens"));
}

TEST(BatchGenerator, TextsComeFromManyThreads) {
  constexpr size_t kThreads = 3, kEach = 4;
  const auto generator = Make(GptModel(Form::kCache), {.context = 32, .rows = 4});
  std::vector<Ended> ended(kThreads * kEach);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = t * kEach; i < (t + 1) * kEach; ++i) {
        GenerateOptions options;
        options.max_new_tokens = 12;
        EXPECT_TRUE(generator->Add(Asking({1}, ended[i], options)).ok());
        EXPECT_LE(generator->running(), 4u);
        EXPECT_LE(generator->waiting(), kThreads * kEach);
      }
    });
  }
  for (int i = 0; i < 20; ++i) generator->Step();
  for (std::thread& thread : threads) thread.join();
  Finishes(*generator);
  for (const Ended& each : ended)
    EXPECT_THAT(each.tokens, ElementsAre(5, 7, 5, 5, 7, 7, 7, 10, 7, 6, 12, 6));  // transformers'
}

TEST(BatchGenerator, TextsThatAreLeftAreCancelled) {
  Ended running, waiting;
  {
    const auto generator = Make(GptModel(Form::kCache), {.context = 32, .rows = 1});
    ASSERT_TRUE(generator->Add(Asking({1}, running)).ok());
    ASSERT_TRUE(generator->Add(Asking({2}, waiting)).ok());
    generator->Step();
  }
  EXPECT_TRUE(absl::IsCancelled(running.finish.status()));
  EXPECT_TRUE(absl::IsCancelled(waiting.finish.status()));
}

}  // namespace
}  // namespace onward::generation
