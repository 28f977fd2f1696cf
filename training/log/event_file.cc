#include "training/log/event_file.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "files/mapped_file.h"
#include "graph/base/crc32c.h"
#include "onward/status.h"
#include "training/log/event.pb.h"
#include "training/log/log_file.h"

namespace onward::training {
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

class BufferedEventFile : public EventFile {
 public:
  explicit BufferedEventFile(LogFile file) : file_(std::move(file)) {}
  ~BufferedEventFile() override { Flush().IgnoreError(); }

  // `resumed_after`: the step, 0: a new training.
  absl::Status Start(int64_t resumed_after) {
    log::Event event;
    event.set_file_version("brain.Event:2");
    Write(event);
    if (resumed_after > 0) {
      log::Event start;
      start.set_step(resumed_after + 1);
      start.mutable_session_log()->set_status(log::SessionLog::START);
      Write(start);
    }
    return Flush();
  }
  absl::Status Scalar(std::string_view tag, int64_t step, double value) override {
    log::Event event;
    event.set_step(step);
    log::Summary::Value* entry = event.mutable_summary()->add_value();
    entry->set_tag(std::string(tag));
    entry->set_simple_value(static_cast<float>(value));
    Write(event);
    return absl::OkStatus();
  }
  absl::Status Histogram(std::string_view tag, int64_t step,
                         absl::Span<const float> values) override {
    log::Event event;
    event.set_step(step);
    log::Summary::Value* entry = event.mutable_summary()->add_value();
    entry->set_tag(std::string(tag));
    Fill(values, *entry->mutable_histo());
    Write(event);
    return absl::OkStatus();
  }
  absl::Status Flush() override {
    const std::string records = std::exchange(pending_, "");
    return records.empty() ? absl::OkStatus() : file_.Append(records);
  }
  const std::string& path() const override { return file_.path(); }

 private:
  // A record: the length, its checksum, the bytes, their checksum.
  void Write(log::Event& event) {
    event.set_wall_time(Now());
    const std::string bytes = event.SerializeAsString();
    const std::string length = LittleEndian(bytes.size(), 8);
    absl::StrAppend(&pending_, length, Masked(length), bytes, Masked(bytes));
  }

  LogFile file_;
  std::string pending_;
};

uint64_t FromLittleEndian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

// Bytes of the whole records that come before the first one of a later step.
size_t KeptBytes(std::string_view bytes, int64_t step, bool evaluated) {
  constexpr size_t kHead = 12, kTail = 4;  // length and checksum; checksum
  size_t kept = 0;
  while (bytes.size() - kept >= kHead + kTail) {
    const std::string_view rest = bytes.substr(kept);
    const uint64_t length = FromLittleEndian(rest.substr(0, 8));
    if (length > rest.size() - kHead - kTail) break;
    const std::string_view record = rest.substr(kHead, length);
    log::Event event;
    if (rest.substr(kHead + length, kTail) != Masked(record) ||
        !event.ParseFromString(std::string(record)))
      break;
    // The start of a training that resumed after `step` names the next one, and the evaluation that
    // was due comes behind it.
    if (event.step() > (event.has_session_log() ? step + 1 : step)) break;
    const bool of_evaluation = event.summary().value_size() > 0 &&
                               absl::StartsWith(event.summary().value(0).tag(), "evaluation/");
    if (!evaluated && event.step() == step && of_evaluation) break;
    kept += kHead + length + kTail;
  }
  return kept;
}

absl::Status CutOff(const std::string& path, int64_t step, bool evaluated) {
  size_t kept = 0;
  {
    ONWARD_ASSIGN_OR_RETURN(const auto file, files::MappedFile::Open(path));
    kept = KeptBytes(file->bytes(), step, evaluated);
    if (kept == file->bytes().size()) return absl::OkStatus();
  }
  return LogFile::Continue(path, kept).status();
}

absl::StatusOr<std::unique_ptr<EventFile>> Make(const std::string& directory, int64_t step) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  for (int i = 0;; ++i) {
    const std::string path =
        absl::StrCat(directory, "/events.out.tfevents.", static_cast<int64_t>(Now()), ".onward.",
                     getpid(), ".", i);
    absl::StatusOr<LogFile> file = LogFile::Create(path, /*only_new=*/true);
    if (absl::IsAlreadyExists(file.status()) && i < 1000) continue;
    if (!file.ok()) return file.status();
    auto made = std::make_unique<BufferedEventFile>(*std::move(file));
    ONWARD_RETURN_IF_ERROR(made->Start(step));
    return made;
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<EventFile>> EventFile::Create(const std::string& directory) {
  return Make(directory, 0);
}

absl::StatusOr<std::unique_ptr<EventFile>> EventFile::Continue(const std::string& directory,
                                                               int64_t step, bool evaluated) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (!absl::StartsWith(name, "events.out.tfevents.") || !absl::StrContains(name, ".onward."))
      continue;
    ONWARD_RETURN_IF_ERROR(CutOff(entry.path(), step, evaluated));
  }
  return Make(directory, step);
}

}  // namespace onward::training
