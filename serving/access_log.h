// One line of JSON for each request: who asked for what, and what it took. It has no keys, no query
// and no data.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "serving/http/http_handler.h"
#include "serving/statistics/model_statistics.h"

namespace onward::serving {

// Takes a line without its end, from any thread.
using AccessLog = std::function<void(const std::string& line)>;

// The facts about a request that are collected while it is handled.
struct AccessRecord {
  uint64_t id = 0;  // the server's number of the request
  std::chrono::system_clock::time_point arrived;
  std::chrono::steady_clock::time_point begun;
  std::string client, method, path;
  std::string trace_id;  // "": the client sent none
  size_t bytes_in = 0;
  size_t bytes_out = 0;  // besides the body of the reply
  // --- of an inference
  std::string model, version;  // "": it is none
  int64_t batch_rows = 0;      // of the run that it was part of
  RequestTimes times;
};

// A record of the request that has just come.
std::shared_ptr<AccessRecord> RecordOf(const HttpRequest& request, size_t body_bytes);
// As one line, with the reply that is sent now.
std::string AccessLine(const AccessRecord& record, const HttpReply& reply);
// The line of a client whose request could not be read.
std::string RefusalLine(const std::string& client, int status);

}  // namespace onward::serving
