// A stranger's request for text: its body for each endpoint, and the pieces of a text with the
// strings that end it.
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "serving/text/stop_text.h"
#include "serving/text/text_task.h"
#include "tests/fuzz/fuzz_bytes.h"
#include "tests/fuzz/harnesses.h"
#include "tests/serving/text_fixture.h"

namespace onward::fuzz {
namespace {

using namespace serving;  // NOLINT: the harness is all of it

TextModel& Model() {
  static const std::shared_ptr<TextModel> model = [] {
    TextFacts facts;
    facts.context = 64;
    facts.chat_template = files::ChatTemplate::Parse(
        "{% for m in messages %}{{ m.role }}{{ m.content }}{% endfor %}");
    return LettersTextModel(std::move(facts), 1);
  }();
  return *model;
}

void Require(bool holds) {
  if (!holds) std::abort();
}

// A task that was read keeps what its members promise.
void Check(const absl::StatusOr<TextTask>& task) {
  if (!task.ok()) return Require(!task.status().message().empty());
  Require(!task->prompts.empty() && task->prompts.size() == task->prompt_texts.size());
  for (const std::vector<int64_t>& prompt : task->prompts) {
    Require(!prompt.empty());
    Require(static_cast<int64_t>(prompt.size()) + task->options.max_new_tokens <= 64);
  }
  Require(task->choices >= 1 && task->top >= 0 && task->top <= 20);
}

// Whatever the pieces, what is shown is the whole text or ends before the first stop in it.
void CheckStops(std::string_view bytes) {
  const size_t half = bytes.size() / 2;
  std::vector<std::string> stops;
  for (size_t at = 0; at < half; at += 3)
    stops.emplace_back(bytes.substr(at, std::min<size_t>(3, half - at)));
  const std::string_view text = bytes.substr(half);
  StopText stop_text(stops);
  std::string shown;
  for (size_t at = 0; at < text.size(); at += 2) shown += stop_text.Push(text.substr(at, 2));
  shown += stop_text.Finish();
  size_t first = text.size();
  for (const std::string& stop : stops) first = std::min(first, text.find(stop));
  Require(stop_text.stopped() == (first < text.size()));
  if (!stop_text.stopped()) Require(shown == text);
  Require(text.substr(0, shown.size()) == shown);
}

}  // namespace

// The first byte chooses what the rest is.
void TextRequestBytes(const uint8_t* data, size_t size) {
  if (size == 0) return;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 4 == 3) return CheckStops(rest);
  const absl::StatusOr<Json> body = ReadBody(rest);
  if (!body.ok()) return;
  constexpr absl::StatusOr<TextTask> (*kReaders[])(const Json&, const TextModel&) = {
      ReadCompletion, ReadChat, ReadGenerate};
  Check(kReaders[data[0] % 4](*body, Model()));
}

}  // namespace onward::fuzz
