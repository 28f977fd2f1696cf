// The limits of one rendering, and the text that it has made.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "files/chat_template/value.h"

namespace onward::chat_template {

class Rendering {
 public:
  explicit Rendering(absl::Time now) : now_(now) {}
  ~Rendering();

  // Before `bytes` of values are made. ResourceExhausted: too much work in all.
  absl::Status Charge(size_t bytes);
  absl::Status Step() { return Charge(64); }
  // Before `bytes` of text are read character by character, which takes longer than to copy them.
  absl::Status ChargeCharacters(size_t bytes) { return Charge(8 * bytes); }
  // One level deeper, as long as it lives; ok() is false where that is too deep.
  class Level {
   public:
    explicit Level(Rendering& rendering) : depth_(rendering.depth_) { ++depth_; }
    ~Level() { --depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    absl::Status Check() const;

   private:
    int& depth_;
  };

  // Charged, and refused where containers lie too deep inside each other.
  absl::StatusOr<Value> MakeText(std::string text, bool markup = false);
  absl::StatusOr<Value> MakeList(Values items);
  absl::StatusOr<Value> MakeTuple(Values items);
  absl::StatusOr<Value> MakeIterator(Values items);
  absl::StatusOr<Value> MakeDict(Dict dict);
  Namespace* MakeNamespace();
  absl::Time now() const { return now_; }

 private:
  absl::StatusOr<Value> Checked(Value value, size_t items);

  absl::Time now_;
  size_t spent_ = 0;
  int depth_ = 0;
  std::deque<Namespace> namespaces_;
};

}  // namespace onward::chat_template
