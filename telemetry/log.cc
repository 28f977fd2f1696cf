#include "onward/log.h"

#include <cstdio>

namespace onward {

void WriteLog(const LogSink& sink, LogLevel level, std::string_view source, std::string message) {
  if (sink != nullptr) sink({level, source, std::move(message)});
}

LogSink LogToStandardError(LogLevel least) {
  return [least](const LogRecord& record) {
    if (record.level < least) return;
    constexpr const char* kBefore[] = {"", "warning: ", "error: "};
    // One call, so that lines of several threads stay whole.
    std::fprintf(stderr, "%s%s\n", kBefore[static_cast<int>(record.level)], record.message.c_str());
  };
}

}  // namespace onward
