// Exit codes of the command, as docs/cli.md says them.
#pragma once

#include <string_view>

#include "absl/status/status.h"

namespace onward::cli {

inline constexpr int kFailed = 1;
inline constexpr int kWrongUsage = 2;
inline constexpr int kInterrupted = 128;  // plus the signal's number

// An error that ends the command with `code`; others end it with kFailed. An empty message prints
// nothing.
absl::Status ErrorWithExitCode(std::string_view message, int code);
int ExitCodeOf(const absl::Status& status);

}  // namespace onward::cli
