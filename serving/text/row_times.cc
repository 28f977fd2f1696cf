#include "serving/text/row_times.h"

#include <chrono>
#include <utility>

namespace onward::serving {

void RowTimes::Measure(const std::shared_ptr<RowTimes>& times, generation::TextRequest& request) {
  using Clock = std::chrono::steady_clock;
  const auto begin = std::make_shared<Clock::time_point>();
  request.on_begin = [begin, then = std::move(request.on_begin)] {
    *begin = Clock::now();
    if (then) then();
  };
  request.on_end = [times, begin,
                    then = std::move(request.on_end)](absl::StatusOr<generation::Finish> finish) {
    // Those that their clients leave say nothing about others.
    if (finish.ok() && *begin != Clock::time_point())
      times->Add(std::chrono::duration<double>(Clock::now() - *begin).count());
    if (then) then(std::move(finish));
  };
}

double RowTimes::mean() const {
  const std::lock_guard lock(mutex_);
  return mean_;
}

void RowTimes::Add(double seconds) {
  constexpr double kShare = 0.2;  // of the last one
  const std::lock_guard lock(mutex_);
  mean_ = mean_ == 0 ? seconds : mean_ + kShare * (seconds - mean_);
}

}  // namespace onward::serving
