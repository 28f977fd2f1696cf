#include "onnx_io/problems.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace onward::onnx_io {

void Problems::Add(std::string message, bool invalid) {
  ++count_;
  invalid_ |= invalid;
  if (count_ <= kListed) messages_.push_back(std::move(message));
}

void Problems::Add(std::string_view where, const absl::Status& status) {
  if (status.ok()) return;
  if (absl::IsResourceExhausted(status) && exhausted_.empty())
    exhausted_ = absl::StrCat(std::string(where), std::string(status.message()));
  Add(absl::StrCat(std::string(where), std::string(status.message())),
      status.code() != absl::StatusCode::kUnimplemented);
}

absl::Status Problems::ToStatus() const {
  if (count_ == 0) return absl::OkStatus();
  if (!exhausted_.empty()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("there is not enough memory for the model's tensors: ", exhausted_));
  }
  std::string text = absl::StrJoin(messages_, "; ");
  if (count_ > 1) text = absl::StrCat(count_, " problems: ", text);
  if (count_ > kListed) absl::StrAppend(&text, "; and ", count_ - kListed, " more");
  return invalid_ ? absl::InvalidArgumentError(text) : absl::UnimplementedError(text);
}

}  // namespace onward::onnx_io
