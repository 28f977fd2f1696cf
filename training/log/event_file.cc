#include "training/log/event_file.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/crc32c.h"
#include "graph/base/status.h"
#include "training/log/event.pb.h"

namespace onward {
namespace {

using Histogram = log::Histogram;

std::string LittleEndian(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

// TFRecord's: a checksum of data that holds checksums must not be one of them.
std::string Masked(std::string_view bytes) {
  const uint32_t crc = Crc32c(bytes);
  return LittleEndian(((crc >> 15) | (crc << 17)) + 0xa282ead8u, 4);
}

double Now() {
  using Seconds = std::chrono::duration<double>;
  return Seconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Limits of the buckets: 1e-12 * 1.1^k up to 1e20, the same below zero, then the largest double.
const std::vector<double>& Limits() {
  static const std::vector<double> limits = [] {
    std::vector<double> positive;
    for (double limit = 1e-12; limit < 1e20; limit *= 1.1) positive.push_back(limit);
    std::vector<double> all;
    for (auto it = positive.rbegin(); it != positive.rend(); ++it) all.push_back(-*it);
    all.push_back(0);
    all.insert(all.end(), positive.begin(), positive.end());
    all.push_back(std::numeric_limits<double>::max());
    return all;
  }();
  return limits;
}

void Fill(absl::Span<const float> values, Histogram& histogram) {
  const std::vector<double>& limits = Limits();
  std::vector<double> counts(limits.size());
  double low = 0, high = 0, count = 0, sum = 0, squares = 0;
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    const double x = value;
    low = count == 0 ? x : std::min(low, x);
    high = count == 0 ? x : std::max(high, x);
    ++count;
    sum += x;
    squares += x * x;
    ++counts[static_cast<size_t>(std::upper_bound(limits.begin(), limits.end(), x) -
                                 limits.begin())];
  }
  histogram.set_min(low);
  histogram.set_max(high);
  histogram.set_num(count);
  histogram.set_sum(sum);
  histogram.set_sum_squares(squares);
  // From the empty bucket before the first value to the bucket of the last one.
  size_t first = 0, last = counts.size() - 1;
  while (first < last && counts[first] == 0) ++first;
  while (last > first && counts[last] == 0) --last;
  for (size_t i = first - std::min<size_t>(first, 1); i <= last; ++i) {
    histogram.add_bucket_limit(limits[i]);
    histogram.add_bucket(counts[i]);
  }
}

class StdioEventFile : public EventFile {
 public:
  StdioEventFile(std::FILE* file, std::string path) : file_(file), path_(std::move(path)) {}
  ~StdioEventFile() override { std::fclose(file_); }

  absl::Status Start() {
    log::Event event;
    event.set_file_version("brain.Event:2");
    ONWARD_RETURN_IF_ERROR(Write(event));
    return Flush();
  }
  absl::Status Scalar(std::string_view tag, int64_t step, double value) override {
    log::Event event;
    event.set_step(step);
    log::Summary::Value* entry = event.mutable_summary()->add_value();
    entry->set_tag(std::string(tag));
    entry->set_simple_value(static_cast<float>(value));
    return Write(event);
  }
  absl::Status Histogram(std::string_view tag, int64_t step,
                         absl::Span<const float> values) override {
    log::Event event;
    event.set_step(step);
    log::Summary::Value* entry = event.mutable_summary()->add_value();
    entry->set_tag(std::string(tag));
    Fill(values, *entry->mutable_histo());
    return Write(event);
  }
  absl::Status Flush() override {
    if (std::fflush(file_) == 0) return absl::OkStatus();
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot write '", path_, "'"));
  }
  const std::string& path() const override { return path_; }

 private:
  // A record: the length, its checksum, the bytes, their checksum.
  absl::Status Write(log::Event& event) {
    event.set_wall_time(Now());
    const std::string bytes = event.SerializeAsString();
    const std::string length = LittleEndian(bytes.size(), 8);
    const std::string record = absl::StrCat(length, Masked(length), bytes, Masked(bytes));
    if (std::fwrite(record.data(), 1, record.size(), file_) == record.size())
      return absl::OkStatus();
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot write '", path_, "'"));
  }

  std::FILE* file_;
  std::string path_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<EventFile>> EventFile::Create(const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  for (int i = 0;; ++i) {
    const std::string path =
        absl::StrCat(directory, "/events.out.tfevents.", static_cast<int64_t>(Now()), ".onward.",
                     getpid(), ".", i);
    std::FILE* file = std::fopen(path.c_str(), "wbx");
    if (file == nullptr && errno == EEXIST && i < 1000) continue;
    if (file == nullptr)
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot create '", path, "'"));
    auto made = std::make_unique<StdioEventFile>(file, path);
    ONWARD_RETURN_IF_ERROR(made->Start());
    return made;
  }
}

}  // namespace onward
