#include "serving/text/text_model.h"

#include <utility>

namespace onward::serving {

constexpr size_t kMostWaiting = 256;  // texts without a row

TextModel::TextModel(Tokenizer tokenizer, TextFacts facts,
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
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

absl::Status TextModel::Generate(generation::TextRequest request) {
  if (generator_->waiting() >= kMostWaiting)
    return absl::UnavailableError("too many texts wait for this model: try again later");
  {
    const std::lock_guard lock(mutex_);
    if (absl::Status status = generator_->Add(std::move(request)); !status.ok()) return status;
  }
  changed_.notify_all();
  return absl::OkStatus();
}

void TextModel::Work() {
  while (true) {
    {
      std::unique_lock lock(mutex_);
      const auto has_texts = [this] { return generator_->waiting() + generator_->running() > 0; };
      changed_.wait(lock, [&] { return ends_ || has_texts(); });
      if (!has_texts()) return;
    }
    generator_->Step();
  }
}

}  // namespace onward::serving
