#include "serving/text/text_run.h"

#include <atomic>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "generation/grammar/grammar_constraint.h"
#include "serving/protocol/error_reply.h"
#include "serving/protocol/openai_error.h"

namespace onward::serving {

std::shared_ptr<const void> TextRuns::Begin() {
  const std::lock_guard lock(mutex_);
  ++under_way_;
  return {this, [](TextRuns* runs) {
            const std::lock_guard inner(runs->mutex_);
            --runs->under_way_;
            runs->changed_.notify_all();
          }};
}

void TextRuns::End() {
  ending_.request_stop();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return under_way_ == 0; });
}

namespace {

using Text = std::string;

Text Dumped(const Json& document) {
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Functions of one generator's thread and of the request's own call it.
class TextRun : public std::enable_shared_from_this<TextRun> {
 public:
  TextRun(const TextModel& model, TextTask task, const ReplyFormat& format, TextRunOptions options,
          HttpResponder respond)
      : task_(std::move(task)),
        format_(format),
        options_(std::move(options)),
        respond_(std::move(respond)),
        client_left_(options_.client_left, [this] { stop_.request_stop(); }),
        ending_(options_.ending, [this] { stop_.request_stop(); }) {
    for (size_t prompt = 0; prompt < task_.prompts.size(); ++prompt) {
      usage_.prompt_tokens += static_cast<int64_t>(task_.prompts[prompt].size());
      for (int i = 0; i < task_.choices; ++i) AddChoice(model, task_.prompt_texts[prompt]);
    }
  }

  void Begin(TextModel& model) {
    if (task_.stream) pipe_ = std::make_shared<BodyPipe>();
    for (size_t i = 0; i < choices_.size(); ++i) {
      if (absl::Status status = model.Generate(RequestOf(i), options_.max_wait, options_.take_turn);
          !status.ok()) {
        const std::lock_guard lock(mutex_);
        stop_.request_stop();  // those that were taken
        return Fail(status);
      }
    }
    if (!task_.stream) return;
    const std::lock_guard lock(mutex_);
    if (ended_ && !begun_) return;  // by an error, which is the reply
    BeginStream();
  }

 private:
  struct State {
    Choice choice;
    WholeChoice whole;
    ToolCallReader tools;
  };

  void AddChoice(const TextModel& model, const Text& prompt) {
    ChoiceOptions options = {.stops = task_.stops,
                             .stop_tokens = task_.options.stop_tokens,
                             .log_probabilities = task_.log_probabilities,
                             .echo = task_.echo ? prompt : ""};
    choices_.push_back(
        {Choice(model.tokenizer(), std::move(options)), {}, ToolCallReader(task_.tools)});
    choices_.back().whole.has_scores = task_.log_probabilities;
  }

  generation::TextRequest RequestOf(size_t index) {
    generation::TextRequest request;
    request.prompt = task_.prompts[index / static_cast<size_t>(task_.choices)];
    request.options = task_.options;
    request.options.seed += index % static_cast<size_t>(task_.choices);
    request.log_probabilities = task_.log_probabilities;
    request.top = task_.top;
    request.prompt_scores = task_.echo && task_.log_probabilities;
    if (task_.grammar != nullptr)
      request.constraint =
          std::make_shared<generation::GrammarConstraint>(task_.grammar, task_.options.stop_tokens);
    request.stop = stop_.get_token();
    request.on_token = [self = shared_from_this(), index](const generation::TextToken& token) {
      return self->Take(index, token);
    };
    request.on_end = [self = shared_from_this(), index](absl::StatusOr<generation::Finish> finish) {
      self->End(index, finish);
    };
    return request;
  }

  bool Take(size_t index, const generation::TextToken& token) {
    const std::lock_guard lock(mutex_);
    State& state = choices_[index];
    if (ended_) return false;
    absl::StatusOr<ChoiceDelta> delta = state.choice.Take(token);
    if (!delta.ok()) {
      Fail(delta.status());
      return false;
    }
    return Show(index, *std::move(delta)) && !state.choice.stopped();
  }

  void End(size_t index, const absl::StatusOr<generation::Finish>& finish) {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    if (!finish.ok()) return Fail(finish.status());
    State& state = choices_[index];
    absl::StatusOr<ChoiceDelta> delta = state.choice.End(*finish);
    if (!delta.ok()) return Fail(delta.status());
    usage_.completion_tokens += state.choice.tokens();
    Show(index, *std::move(delta), state.choice.finish_reason());
    if (++ended_choices_ == choices_.size()) Finish();
  }

  // `finish_reason`: "" before the end. False: the client does not read any more.
  bool Show(size_t index, ChoiceDelta delta, const Text& finish_reason = "") {
    State& state = choices_[index];
    WholeChoice& whole = state.whole;
    AddText(state.tools.Push(delta.text), whole);
    if (!finish_reason.empty()) {
      AddText(state.tools.Finish(), whole);
      const bool calls = whole.calls_before + whole.calls.size() > 0;
      whole.finish_reason = calls && finish_reason == "stop" ? "tool_calls" : finish_reason;
    }
    for (ScoredToken& token : delta.tokens) whole.tokens.push_back(std::move(token));
    if (!task_.stream) return true;
    if (whole.text.empty() && whole.tokens.empty() && whole.calls.empty() &&
        whole.finish_reason.empty())
      return true;
    BeginStream();
    const bool taken = Send(Dumped(format_.part(options_.facts, static_cast<int>(index), whole)));
    whole.text.clear();
    whole.tokens.clear();
    whole.calls_before += whole.calls.size();
    whole.calls.clear();
    if (!taken) stop_.request_stop();
    return taken;
  }

  static void AddText(ToolCallReader::Read read, WholeChoice& whole) {
    whole.text += read.text;
    for (ToolCall& call : read.calls) whole.calls.push_back(std::move(call));
  }

  void BeginStream() {
    if (std::exchange(begun_, true)) return;
    HttpReply reply{.content_type = "text/event-stream", .fields = {{"Cache-Control", "no-cache"}}};
    reply.pipe = pipe_;
    respond_(std::move(reply));
    if (format_.first == nullptr) return;
    for (size_t i = 0; i < choices_.size(); ++i)
      Send(Dumped(format_.first(options_.facts, static_cast<int>(i))));
  }

  bool Send(const Text& data) { return pipe_->Write(absl::StrCat("data: ", data, "\n\n")); }

  void Finish() {
    ended_ = true;
    options_.done(absl::OkStatus());
    if (task_.stream) {
      if (task_.include_usage && format_.usage != nullptr)
        Send(Dumped(format_.usage(options_.facts, usage_)));
      if (format_.last[0] != '\0') Send(format_.last);
      return pipe_->End();
    }
    std::vector<WholeChoice> wholes;
    for (State& state : choices_) wholes.push_back(std::move(state.whole));
    HttpReply reply;
    reply.body = Dumped(format_.whole(options_.facts, wholes, usage_));
    respond_(std::move(reply));
  }

  void Fail(const absl::Status& status) {
    if (std::exchange(ended_, true)) return;
    options_.done(status);
    HttpReply reply = ErrorReply(status);
    if (format_.openai_errors) reply = AsOpenAiError(std::move(reply));
    if (!begun_) return respond_(std::move(reply));
    Send(reply.body);
    pipe_->End();
  }

  const TextTask task_;
  const ReplyFormat& format_;
  const TextRunOptions options_;
  const HttpResponder respond_;
  std::stop_source stop_;
  const std::stop_callback<std::function<void()>> client_left_, ending_;
  std::mutex mutex_;  // guards what follows
  std::vector<State> choices_;
  std::shared_ptr<BodyPipe> pipe_;
  Usage usage_;
  size_t ended_choices_ = 0;
  bool begun_ = false, ended_ = false;
};

}  // namespace

void RunText(TextModel& model, TextTask task, const ReplyFormat& format, TextRunOptions options,
             HttpResponder respond) {
  const auto run = std::make_shared<TextRun>(model, std::move(task), format, std::move(options),
                                             std::move(respond));
  run->Begin(model);
}

}  // namespace onward::serving
