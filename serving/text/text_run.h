// The texts of one request, from its task to its reply.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>

#include "absl/status/status.h"
#include "serving/http/http_handler.h"
#include "serving/text/reply_format.h"
#include "serving/text/text_model.h"
#include "serving/text/text_task.h"

namespace onward::serving {

// Counts the requests for text under way, so that a server can end them. Thread-safe.
class TextRuns {
 public:
  // A token of what is under way; it is over once the last copy is gone.
  std::shared_ptr<const void> Begin();
  std::stop_token ending() const { return ending_.get_token(); }
  // Stops those that are under way, and those that begin later; returns once there are none.
  void End();

 private:
  std::stop_source ending_;
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t under_way_ = 0;
};

struct TextRunOptions {
  ReplyFacts facts;
  std::chrono::microseconds max_wait = std::chrono::microseconds::max();  // for a row
  TakeTurn take_turn = nullptr;                                           // of steps that compute
  std::stop_token client_left;
  std::stop_token ending;               // of the server
  std::shared_ptr<const void> counted;  // kept until the end
  // Told how it ended, once; before the reply of a request that fails, or of a whole text.
  std::function<void(const absl::Status& status)> done;
};

// Replies once: with the whole texts, or with a stream of events (Server-Sent Events, WHATWG HTML
// section 9.2). An error after the first event is an event.
void RunText(TextModel& model, TextTask task, const ReplyFormat& format, TextRunOptions options,
             HttpResponder respond);

}  // namespace onward::serving
