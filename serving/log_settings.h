// The settings of the server's log, which administrators may change while it runs.
#pragma once

#include <atomic>
#include <cstdint>

#include "onward/log.h"

namespace onward::serving {

// Thread-safe.
struct LogSettings {
  std::atomic<bool> news{true}, warnings{true}, errors{true};
  std::atomic<uint32_t> verbose_level{0};  // from 1 on: a line for each request

  bool Takes(LogLevel level) const {
    return level == LogLevel::kNews ? news : level == LogLevel::kWarning ? warnings : errors;
  }
};

}  // namespace onward::serving
