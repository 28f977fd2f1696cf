#include "serving/text/text_model.h"

#include <cmath>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"

namespace onward::serving {

constexpr size_t kMostWaiting = 256;  // texts without a row

TextModel::TextModel(files::Tokenizer tokenizer, TextFacts facts,
                     std::unique_ptr<generation::BatchGenerator> generator)
    : tokenizer_(std::move(tokenizer)),
      facts_(std::move(facts)),
      formats_(std::make_unique<ResponseFormats>(tokenizer_)),
      generator_(std::move(generator)) {
  if (generates()) thread_ = std::thread([this] { Work(); });
}

TextModel::~TextModel() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  going_.request_stop();
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

double TextModel::SecondsToWait() const {
  const size_t texts = generator_->running() + generator_->waiting(), rows = generator_->rows();
  if (texts < rows) return 0;
  return static_cast<double>(texts - rows + 1) * row_times_->mean() / static_cast<double>(rows);
}

absl::Status TextModel::Generate(generation::TextRequest request,
                                 std::chrono::microseconds max_wait, TakeTurn take_turn) {
  {
    const std::lock_guard lock(mutex_);
    if (generator_->waiting() >= kMostWaiting)
      return absl::UnavailableError("too many texts wait for this model: try again later");
    const double seconds = SecondsToWait();
    if (seconds > std::chrono::duration<double>(max_wait).count()) {
      return absl::UnavailableError(absl::StrCat(
          "the model is overloaded: the text would wait for ", std::ceil(seconds * 10) / 10, " s"));
    }
    RowTimes::Measure(row_times_, request);
    if (absl::Status status = generator_->Add(std::move(request)); !status.ok()) return status;
    take_turn_ = std::move(take_turn);
  }
  changed_.notify_all();
  return absl::OkStatus();
}

void TextModel::Work() {
  while (true) {
    TakeTurn take_turn;
    {
      std::unique_lock lock(mutex_);
      const auto has_texts = [this] { return generator_->waiting() + generator_->running() > 0; };
      changed_.wait(lock, [&] { return ends_ || has_texts(); });
      if (!has_texts()) return;
      take_turn = take_turn_;
    }
    const auto step = [this](RunPriority priority) {
      try {
        generator_->Step(priority);
      } catch (const std::bad_alloc&) {  // the next step tries again
      }
    };
    if (take_turn == nullptr) {
      step(RunPriority::kNormal);
    } else {
      take_turn(going_.get_token(), step);
    }
  }
}

}  // namespace onward::serving
