// Messages of libraries to people that no return value carries: warnings, and news.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace onward {

enum class LogLevel { kNews, kWarning, kError };

struct LogRecord {
  LogLevel level = LogLevel::kNews;
  std::string_view source;  // who speaks: "session", "training", "weights", "checkpoint"
  std::string message;      // a sentence without a full stop
};

// Takes records, one call a record, by the thread that speaks: of several sessions at once. A null
// sink drops them.
using LogSink = std::function<void(const LogRecord& record)>;

void WriteLog(const LogSink& sink, LogLevel level, std::string_view source, std::string message);
inline void Warn(const LogSink& sink, std::string_view source, std::string message) {
  WriteLog(sink, LogLevel::kWarning, source, std::move(message));
}

// Writes records of at least `least` to standard error, a line each: "warning: the message".
LogSink LogToStandardError(LogLevel least = LogLevel::kNews);

}  // namespace onward
