// Tokens a second of eight texts at once and one at a time, in pairs that take turns.
// Usage: text_batches [gpt|exported|MODEL.onnx] [THREADS [PAIRS [NEW_TOKENS [PROMPT_TOKENS]]]]
// "gpt": a GPT-2 of 6 layers of width 512 with caches that are written in place. "exported": one of
// that size as optimum exports it, which copies its caches.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "onward/generation/batch_generator.h"
#include "onward/import.h"
#include "onward/models.h"
#include "onward/status.h"
#include "tests/generation/exported_decoder.h"

namespace {

namespace generation = onward::generation;

constexpr int64_t kTexts = 8, kContext = 512;

absl::StatusOr<onward::Model> ModelOf(const std::string& path) {
  if (path == "exported") {
    return onward::testing::ExportedDecoder(onward::testing::Positions::kInput, true,
                                            {6, 512, 8, 16384, kContext});
  }
  if (path != "gpt") return onward::ImportFile(path);
  return onward::BuildModel("gpt", {{"vocabulary", 16384},
                                    {"layers", 6},
                                    {"heads", 8},
                                    {"width", 512},
                                    {"context", kContext},
                                    {"cache", 1}});
}

std::vector<int64_t> Prompt(int64_t text, int64_t tokens) {
  std::vector<int64_t> prompt;
  for (int64_t i = 0; i < tokens + text; ++i) prompt.push_back((text * 131 + i * 37 + 1) % 5000);
  return prompt;
}

// Tokens by time; that of the processor does not know who else computes.
struct Speed {
  double per_second, per_processor_second;
};

class Watch {
 public:
  Speed Of(size_t tokens) const {
    const auto count = static_cast<double>(tokens);
    const auto used = static_cast<double>(std::clock() - processor_) / CLOCKS_PER_SEC;
    return {count / std::chrono::duration<double>(Clock::now() - begin_).count(), count / used};
  }

 private:
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin_ = Clock::now();
  const std::clock_t processor_ = std::clock();
};

struct Settings {
  int64_t new_tokens = 64, prompt_tokens = 8;
};

absl::StatusOr<Speed> AtOnce(generation::BatchGenerator& generator, const Settings& settings) {
  absl::Status status;
  size_t tokens = 0;
  const Watch watch;
  for (int64_t text = 0; text < kTexts; ++text) {
    generation::TextRequest request;
    request.prompt = Prompt(text, settings.prompt_tokens);
    request.options.max_new_tokens = settings.new_tokens;
    request.on_token = [&](const generation::TextToken&) { return ++tokens > 0; };
    request.on_end = [&](const auto& finish) { status.Update(finish.status()); };
    ONWARD_RETURN_IF_ERROR(generator.Add(std::move(request)));
  }
  while (generator.Step()) {
  }
  ONWARD_RETURN_IF_ERROR(status);
  return watch.Of(tokens);
}

absl::StatusOr<Speed> OneByOne(generation::Decoder& decoder, const Settings& settings) {
  size_t tokens = 0;
  const Watch watch;
  for (int64_t text = 0; text < kTexts; ++text) {
    generation::GenerateOptions options;
    options.max_new_tokens = settings.new_tokens;
    ONWARD_ASSIGN_OR_RETURN(
        const generation::Generated made,
        generation::Generate(decoder, Prompt(text, settings.prompt_tokens), options));
    tokens += made.tokens.size();
  }
  return watch.Of(tokens);
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

absl::Status Measure(const std::string& path, int threads, int pairs, const Settings& settings) {
  onward::SessionOptions options;
  options.num_threads = threads;
  ONWARD_ASSIGN_OR_RETURN(onward::Model model, ModelOf(path));
  ONWARD_ASSIGN_OR_RETURN(const auto decoder,
                          generation::Decoder::Create(model, options, kContext));
  ONWARD_ASSIGN_OR_RETURN(const auto generator,
                          generation::BatchGenerator::Create(
                              std::move(model), options, {.context = kContext, .rows = kTexts}));
  std::vector<double> many, one, ratios, processor;
  for (int pair = 0; pair <= pairs; ++pair) {
    ONWARD_ASSIGN_OR_RETURN(const Speed alone, OneByOne(*decoder, settings));
    ONWARD_ASSIGN_OR_RETURN(const Speed together, AtOnce(*generator, settings));
    if (pair == 0) continue;  // the first runs bind and touch memory
    many.push_back(together.per_second), one.push_back(alone.per_second);
    ratios.push_back(together.per_second / alone.per_second);
    processor.push_back(together.per_processor_second / alone.per_processor_second);
  }
  std::printf(
      "%lld texts at once %.0f tokens/s, one at a time %.0f tokens/s, ratio %.2f, by time "
      "of the processor %.2f (medians of %d pairs)\n",
      static_cast<long long>(kTexts), Median(many), Median(one), Median(ratios), Median(processor),
      pairs);
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int at, int otherwise) {
    return argc > at ? std::atoi(argv[at]) : otherwise;
  };
  const Settings settings = {number(4, 64), number(5, 8)};
  const absl::Status status =
      Measure(argc > 1 ? argv[1] : "gpt", number(2, 1), number(3, 5), settings);
  if (!status.ok()) std::fprintf(stderr, "error: %s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}
