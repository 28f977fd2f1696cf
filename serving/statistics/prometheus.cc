#include "serving/statistics/prometheus.h"

#include <unistd.h>

#include <charconv>
#include <cstdio>

#include "absl/strings/str_cat.h"

namespace onward::serving {
namespace {

struct ReadModel {
  std::string labels;  // model="m",version="1"
  StatisticsSnapshot numbers;
};

void AppendHead(std::string& text, std::string_view name, const char* type, const char* help) {
  absl::StrAppend(&text, "# HELP ", std::string(name), " ", help, "\n# TYPE ", std::string(name),
                  " ", type, "\n");
}

struct CounterRow {
  const char* name;
  const char* help;
  int64_t (*value)(const StatisticsSnapshot& numbers);
};
constexpr int64_t kMicrosecond = 1000;
constexpr CounterRow kCounters[] = {
    {"nv_inference_request_success", "Requests that succeeded",
     [](const StatisticsSnapshot& s) { return s.success.count; }},
    {"nv_inference_count", "Rows of requests that succeeded",
     [](const StatisticsSnapshot& s) { return s.inference_count; }},
    {"nv_inference_exec_count", "Executions of the model",
     [](const StatisticsSnapshot& s) { return s.execution_count; }},
    {"nv_inference_request_duration_us", "Microseconds from arrival to reply",
     [](const StatisticsSnapshot& s) { return s.success.ns / kMicrosecond; }},
    {"nv_inference_queue_duration_us", "Microseconds in the queue",
     [](const StatisticsSnapshot& s) { return s.queue.ns / kMicrosecond; }},
    {"nv_inference_compute_input_duration_us", "Microseconds reading inputs",
     [](const StatisticsSnapshot& s) { return s.compute.compute_input.ns / kMicrosecond; }},
    {"nv_inference_compute_infer_duration_us", "Microseconds running the model",
     [](const StatisticsSnapshot& s) { return s.compute.compute_infer.ns / kMicrosecond; }},
    {"nv_inference_compute_output_duration_us", "Microseconds writing outputs",
     [](const StatisticsSnapshot& s) { return s.compute.compute_output.ns / kMicrosecond; }},
};

void AppendCounters(const std::vector<ReadModel>& models, std::string& text) {
  for (const CounterRow& row : kCounters) {
    AppendHead(text, row.name, "counter", row.help);
    for (const ReadModel& model : models)
      absl::StrAppend(&text, row.name, "{", model.labels, "} ", row.value(model.numbers), "\n");
  }
  constexpr char kFailure[] = "nv_inference_request_failure";
  AppendHead(text, kFailure, "counter", "Requests that failed, by reason");
  for (const ReadModel& model : models) {
    for (int i = 0; i < kFailures; ++i)
      absl::StrAppend(&text, kFailure, "{", model.labels, ",reason=\"",
                      FailureName(static_cast<Failure>(i)), "\"} ",
                      model.numbers.failures[static_cast<size_t>(i)], "\n");
  }
  constexpr char kPending[] = "nv_inference_pending_request_count";
  AppendHead(text, kPending, "gauge", "Requests that wait for their execution");
  for (const ReadModel& model : models)
    absl::StrAppend(&text, kPending, "{", model.labels, "} ", model.numbers.pending, "\n");
}

// The shortest decimal.
std::string Seconds(int64_t nanoseconds) {
  char digits[40];
  const auto end =
      std::to_chars(digits, digits + sizeof(digits), static_cast<double>(nanoseconds) / 1e9).ptr;
  return {digits, end};
}

void AppendHistogram(const std::vector<ReadModel>& models, const std::string& name,
                     const char* help, DurationHistogram StatisticsSnapshot::*which,
                     std::string& text) {
  AppendHead(text, name, "histogram", help);
  for (const ReadModel& model : models) {
    const DurationHistogram& histogram = model.numbers.*which;
    int64_t count = 0;
    for (size_t i = 0; i < DurationHistogram::kBorders.size(); ++i) {
      count += histogram.bucket(i);
      absl::StrAppend(&text, name, "_bucket{", model.labels, ",le=\"",
                      Seconds(DurationHistogram::kBorders[i]), "\"} ", count, "\n");
    }
    absl::StrAppend(&text, name, "_bucket{", model.labels, ",le=\"+Inf\"} ", histogram.count(),
                    "\n", name, "_sum{", model.labels, "} ", Seconds(histogram.sum()), "\n", name,
                    "_count{", model.labels, "} ", histogram.count(), "\n");
  }
}

// Pages of the process: all, and those in memory. Zeros where Linux does not say.
void AppendProcess(std::string& text) {
  long long all = 0, resident = 0;
  if (FILE* const file = std::fopen("/proc/self/statm", "r"); file != nullptr) {
    if (std::fscanf(file, "%lld %lld", &all, &resident) != 2) all = resident = 0;
    std::fclose(file);
  }
  const int64_t page = sysconf(_SC_PAGESIZE);
  AppendHead(text, "process_resident_memory_bytes", "gauge", "Memory of the process in RAM");
  absl::StrAppend(&text, "process_resident_memory_bytes ", resident * page, "\n");
  AppendHead(text, "process_virtual_memory_bytes", "gauge", "Address space of the process");
  absl::StrAppend(&text, "process_virtual_memory_bytes ", all * page, "\n");
}

}  // namespace

std::string EscapedLabel(std::string_view value) {
  std::string escaped;
  for (const char c : value) {
    if (c == '\\' || c == '"') escaped.push_back('\\');
    escaped += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return escaped;
}

std::string PrometheusText(const std::vector<MeasuredModel>& models) {
  std::vector<ReadModel> read;
  for (const MeasuredModel& model : models) {
    read.push_back({absl::StrCat("model=\"", EscapedLabel(model.name), "\",version=\"",
                                 EscapedLabel(model.version), "\""),
                    model.statistics->Read()});
  }
  std::string text;
  AppendCounters(read, text);
  AppendHistogram(read, "onward_request_duration_seconds", "Seconds from arrival to reply",
                  &StatisticsSnapshot::request_histogram, text);
  AppendHistogram(read, "onward_queue_duration_seconds", "Seconds in the queue",
                  &StatisticsSnapshot::queue_histogram, text);
  AppendHistogram(read, "onward_compute_duration_seconds", "Seconds running the model",
                  &StatisticsSnapshot::compute_histogram, text);
  AppendProcess(text);
  return text;
}

}  // namespace onward::serving
