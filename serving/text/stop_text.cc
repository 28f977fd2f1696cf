#include "serving/text/stop_text.h"

#include <algorithm>

namespace onward::serving {
namespace {

// Bytes at the end of `text` that `stop` begins with, fewer than all of it.
size_t BeginningAtEnd(std::string_view text, std::string_view stop) {
  for (size_t count = std::min(text.size(), stop.size() - 1); count > 0; --count)
    if (text.substr(text.size() - count) == stop.substr(0, count)) return count;
  return 0;
}

}  // namespace

std::string StopText::Push(std::string_view piece) {
  if (stopped_) return "";
  held_ += piece;
  size_t first = std::string::npos, held = 0;
  for (const std::string& stop : stops_) {
    first = std::min(first, held_.find(stop));
    held = std::max(held, BeginningAtEnd(held_, stop));
  }
  if (first != std::string::npos) {
    stopped_ = true;
    held_.resize(first);
    return std::exchange(held_, {});
  }
  std::string shown = held_.substr(0, held_.size() - held);
  held_.erase(0, shown.size());
  return shown;
}

std::string StopText::Finish() { return stopped_ ? "" : std::exchange(held_, {}); }

}  // namespace onward::serving
