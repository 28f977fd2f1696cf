#include "cli/exit_code.h"

#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace onward::cli {
namespace {

constexpr char kPayload[] = "onward/exit_code";

}  // namespace

absl::Status ErrorWithExitCode(std::string_view message, int code) {
  absl::Status status = absl::CancelledError(std::string(message));
  status.SetPayload(kPayload, absl::Cord(absl::StrCat(code)));
  return status;
}

int ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return 0;
  const auto payload = status.GetPayload(kPayload);
  int code = kFailed;
  if (payload && !absl::SimpleAtoi(std::string(*payload), &code)) return kFailed;
  return code;
}

}  // namespace onward::cli
