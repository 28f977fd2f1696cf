#include "serving/idle_timer.h"

#include <malloc.h>

#include <new>

#include "serving/memory_reserve.h"

namespace onward::serving {

using Clock = std::chrono::steady_clock;

void ReleaseIdle(const ModelRepository& models, Clock::time_point unused_since,
                 Clock::time_point now) {
  for (const std::shared_ptr<ServedModel>& model : models.Ready()) {
    model->instances().ReleaseIdle(unused_since);
    if (model->sequences() != nullptr) model->sequences()->EndIdle(now);
  }
  malloc_trim(0);  // what was freed in small pieces returns to the machine too
}

IdleTimer::IdleTimer(const ModelRepository& models, std::chrono::milliseconds period,
                     std::chrono::milliseconds most_idle)
    : thread_([this, &models, period, most_idle](const std::stop_token& stop) {
        std::unique_lock lock(mutex_);
        while (!ends_.wait_for(lock, stop, period, [&] { return stop.stop_requested(); })) {
          const Clock::time_point now = Clock::now();
          RefillMemoryReserve();
          try {
            ReleaseIdle(models, now - most_idle, now);
          } catch (const std::bad_alloc&) {  // the next turn does it
          }
        }
      }) {}

}  // namespace onward::serving
