#include "cli/train_progress.h"

#include <unistd.h>

#include <cstdio>
#include <string>

#include "absl/strings/str_format.h"

namespace onward::cli {
namespace {

// "3:07" or "1:02:40".
std::string Duration(double seconds) {
  const auto whole = static_cast<int64_t>(seconds);
  if (whole < 3600) return absl::StrFormat("%d:%02d", whole / 60, whole % 60);
  return absl::StrFormat("%d:%02d:%02d", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace

TrainProgress::TrainProgress(int64_t total)
    : total_(total), terminal_(isatty(STDERR_FILENO) != 0) {}

void TrainProgress::Step(const StepReport& report) {
  mean_ = steps_ == 0 ? report.loss : 0.98 * mean_ + 0.02 * report.loss;
  ++steps_;
  seconds_ += report.seconds;
  examples_ += report.examples;
  const bool last = report.step == total_;
  if (!last && seconds_ < shown_ + (terminal_ ? 0.2 : 5)) return;
  shown_ = seconds_;
  const double left =
      seconds_ / static_cast<double>(steps_) * static_cast<double>(total_ - report.step);
  std::fprintf(stderr,
               "%sstep %lld/%lld  epoch %lld  loss %.4f  lr %.3g  %.0f examples/s  ETA %s%s",
               terminal_ ? "\r\033[K" : "", static_cast<long long>(report.step),
               static_cast<long long>(total_), static_cast<long long>(report.epoch), mean_,
               report.rate, static_cast<double>(examples_) / seconds_, Duration(left).c_str(),
               terminal_ && !last ? "" : "\n");
}

}  // namespace onward::cli
