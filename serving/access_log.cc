#include "serving/access_log.h"

#include <atomic>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "serving/http/framing.h"
#include "serving/protocol/traceparent.h"

namespace onward::serving {
namespace {

using LogLine = nlohmann::ordered_json;

constexpr int64_t kMicrosecond = 1000;  // nanoseconds

std::string TimeText(std::chrono::system_clock::time_point time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", absl::FromChrono(time), absl::UTCTimeZone());
}

std::string Written(const LogLine& line) {
  return line.dump(-1, ' ', false, LogLine::error_handler_t::replace);
}

}  // namespace

std::shared_ptr<AccessRecord> RecordOf(const HttpRequest& request, size_t body_bytes) {
  static std::atomic<uint64_t> count{0};
  auto record = std::make_shared<AccessRecord>();
  record->id = ++count;
  record->arrived = std::chrono::system_clock::now();
  record->begun = std::chrono::steady_clock::now();
  record->client = request.client;
  record->method = request.method;
  for (const std::string& segment : request.segments)
    absl::StrAppend(&record->path, "/", EncodedSegment(segment));
  if (record->path.empty()) record->path = "/";
  record->trace_id = TraceIdOf(FieldOf(request.fields, "traceparent"));
  record->bytes_in = body_bytes;
  return record;
}

std::string AccessLine(const AccessRecord& record, const HttpReply& reply) {
  const auto total = std::chrono::steady_clock::now() - record.begun;
  LogLine line = {{"id", record.id},
                  {"time", TimeText(record.arrived)},
                  {"client", record.client},
                  {"method", record.method},
                  {"path", record.path}};
  if (!record.model.empty()) {
    line["model"] = record.model;
    line["version"] = record.version;
  }
  line["status"] = reply.status;
  line["bytes_in"] = record.bytes_in;
  line["bytes_out"] = record.bytes_out + BodySize(reply);
  if (!record.model.empty()) {
    const RequestTimes& times = record.times;
    line["batch_rows"] = record.batch_rows;
    line["queue_us"] = times.queue / kMicrosecond;
    line["compute_us"] =
        (times.compute_input + times.compute_infer + times.compute_output) / kMicrosecond;
  }
  line["total_us"] = std::chrono::duration_cast<std::chrono::microseconds>(total).count();
  if (!record.trace_id.empty()) line["trace_id"] = record.trace_id;
  return Written(line);
}

std::string RefusalLine(const std::string& client, int status) {
  return Written({{"time", TimeText(std::chrono::system_clock::now())},
                  {"client", client},
                  {"status", status}});
}

}  // namespace onward::serving
