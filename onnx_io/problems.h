// Collects everything that is wrong with a model, so that one error reports it all.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace onward::onnx_io {

class Problems {
 public:
  // Breaks the standard: the whole becomes InvalidArgument.
  void Invalid(std::string message) { Add(std::move(message), true); }
  // Valid, but not supported: Unimplemented when there is nothing worse.
  void Unsupported(std::string message) { Add(std::move(message), false); }
  // Either, by the status' code; `where` is put before its message. Memory that lacks is not a
  // fault of the model: the first such error becomes the whole, ResourceExhausted.
  void Add(std::string_view where, const absl::Status& status);

  int64_t count() const { return count_; }
  // OK without problems; otherwise one line with all of them (the first kListed).
  absl::Status ToStatus() const;

  static constexpr int64_t kListed = 100;

 private:
  void Add(std::string message, bool invalid);

  std::vector<std::string> messages_;
  int64_t count_ = 0;
  bool invalid_ = false;
  std::string exhausted_;  // the first error of memory; "": none
};

}  // namespace onward::onnx_io
