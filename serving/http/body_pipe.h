// A body that is sent while it is made: who makes it writes at one end, the connection reads at
// the other.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

namespace onward::serving {

// Thread-safe.
class BodyPipe {
 public:
  static constexpr size_t kMostWaiting = size_t{4} << 20;  // bytes

  // --- who makes the body
  // False: the client has left, or so much waits that it does not read; nothing is added.
  bool Write(std::string_view bytes);
  void End();  // the body is whole

  // --- the connection
  // `wake` is called, by any thread, whenever there is something to take.
  void Open(std::function<void()> wake);
  struct Part {
    std::string bytes;
    bool is_last = false;
  };
  Part Take();   // what waits
  void Close();  // nothing is taken any more, and `wake` is not called again

 private:
  void Wake();  // takes mutex_

  std::mutex mutex_;
  std::string waiting_;
  bool ended_ = false, closed_ = false;
  std::function<void()> wake_;
};

}  // namespace onward::serving
