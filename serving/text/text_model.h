// A model of text that is served: its tokenizer, its chat template, and the generator whose batch
// all its texts share.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "files/chat_template/chat_template.h"
#include "files/tokenizer/tokenizer.h"
#include "onward/generation/batch_generator.h"
#include "serving/text/response_format.h"
#include "serving/text/row_times.h"

namespace onward::serving {

// Calls a step once its turn has come; at once where `at_once` is stopped.
using TakeTurn = std::function<void(const std::stop_token& at_once,
                                    absl::FunctionRef<void(RunPriority priority)> step)>;

// The way in which the vectors of a text's tokens become one.
enum class Pooling { kMean, kFirst };

struct TextFacts {
  int64_t context = 0;  // the most tokens of a text with its prompt; 0: nobody says
  std::vector<int64_t> stop_tokens = {};
  generation::SamplingOptions sampling = {.greedy = false};  // where the request does not say
  // NotFound: the model has none.
  absl::StatusOr<files::ChatTemplate> chat_template =
      absl::NotFoundError("the model has no chat template");
  std::string bos_token = {}, eos_token = {};  // as templates know them
  Pooling pooling = Pooling::kMean;
};

// Thread-safe.
class TextModel {
 public:
  // `generator` null: the model does not generate, but makes embeddings.
  TextModel(files::Tokenizer tokenizer, TextFacts facts,
            std::unique_ptr<generation::BatchGenerator> generator);
  ~TextModel();  // after the texts under way, whose functions therefore must not own the model

  const files::Tokenizer& tokenizer() const { return tokenizer_; }
  const TextFacts& facts() const { return facts_; }
  ResponseFormats& formats() const { return *formats_; }
  bool generates() const { return generator_ != nullptr; }
  // The generator's session; null where there is none.
  Session* session() const { return generates() ? &generator_->session() : nullptr; }

  // Adds a text, whose functions are called by the model's thread. Errors as
  // BatchGenerator::Add; Unavailable: by what texts took so far it would wait for a row for longer
  // than `max_wait`, or too many wait. `take_turn`: for the steps from now on; null: at once.
  absl::Status Generate(generation::TextRequest request, std::chrono::microseconds max_wait,
                        TakeTurn take_turn = nullptr);

 private:
  double SecondsToWait() const;
  void Work();

  const files::Tokenizer tokenizer_;
  const TextFacts facts_;
  const std::unique_ptr<ResponseFormats> formats_;
  const std::unique_ptr<generation::BatchGenerator> generator_;
  const std::shared_ptr<RowTimes> row_times_ = std::make_shared<RowTimes>();
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;
  TakeTurn take_turn_;  // guarded by mutex_
  // The model goes. The thread that waits for it may hold the core whose turn a step waits for.
  std::stop_source going_;
  std::thread thread_;
};

}  // namespace onward::serving
