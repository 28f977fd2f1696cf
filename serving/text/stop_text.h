// Ends a text before the first of some strings, which may lie across the borders of its pieces.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace onward::serving {

class StopText {
 public:
  explicit StopText(std::vector<std::string> stops) : stops_(std::move(stops)) {}

  // Returns the text to show now with this piece: all but what a stop string may begin with.
  std::string Push(std::string_view piece);
  // Returns the rest that was held back, of a text that has ended.
  std::string Finish();
  bool stopped() const { return stopped_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace onward::serving
