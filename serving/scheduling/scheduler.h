// Which request runs when: a line per model, the threads that compute, and who is sent away because
// the wait would be too long.
//
// Nobody waits for company while a core is idle: what has come for one model meanwhile runs as one
// batch, where the model's rows do not influence each other. Models take turns by the time that
// they have computed. No more threads compute than there are cores.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "onward/run_options.h"
#include "serving/scheduling/line.h"

namespace onward::serving {

struct SchedulerOptions {
  int cores = 1;
  std::chrono::microseconds max_wait = std::chrono::seconds(2);
  size_t most_waiting = 10000;                      // requests
  int64_t most_waiting_bytes = int64_t{256} << 20;  // of their bodies
};

// Thread-safe.
class Scheduler {
 public:
  explicit Scheduler(const SchedulerOptions& options);
  ~Scheduler() { End(); }
  // Refuses what comes, and returns after what waits is done.
  void End();

  // `request.reply` is called once, from another thread, also where the client leaves meanwhile
  // (Cancelled) or has waited too long (Unavailable). Unavailable, and `reply` is not called: by
  // what runs took so far it would wait longer than it may. `wakes` false: Wake is called once
  // more requests have been submitted.
  absl::Status Submit(ScheduledRequest request, bool wakes = true);
  void Wake();
  // Checks that a request of so many bytes would be taken now.
  absl::Status Admit(const ServedModel& model, int64_t bytes) const;
  // Calls `work` in the calling thread, once cores are free and it is the turn of `name`, as if it
  // were a run of that model; at once where `at_once` is stopped.
  void TakeTurn(const std::string& name, const std::stop_token& at_once,
                absl::FunctionRef<void(RunPriority priority)> work);
  // Returns whether the last one that was asked about was refused.
  bool refuses() const { return refuses_; }
  std::chrono::microseconds max_wait() const { return options_.max_wait; }

 private:
  using Lock = std::unique_lock<std::mutex>;

  absl::Status AdmitLocked(const std::string& model, int64_t bytes) const;
  absl::Status CheckWait(const std::string& model, int64_t bytes) const;
  double SecondsToWait(const Line& line) const;
  void Work();
  Line* NextLine();  // null: there is nothing to do now
  void WakeNext();
  void ReadSome(Lock& lock, Line& line);
  // Those that have no room in their queues are refused.
  void PutBack(Lock& lock, Line& line, WaitingRequests read);
  void RunSome(Lock& lock, Line& line);
  // They wait no longer.
  void Forget(const WaitingRequests& taken);
  // Without the lock. Those that do not run are refused, and `batch` loses them.
  void RefuseSome(WaitingRequests& batch, std::chrono::steady_clock::time_point now) const;
  // Takes out a request whose client has left.
  void Drop(const std::string& model, uint64_t number);

  const SchedulerOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable_any turns_changed_;
  std::map<std::string, Line> lines_;  // by model; they stay
  size_t waiting_ = 0;                 // those that are read now included
  size_t queued_ = 0;                  // those in lines
  int64_t waiting_bytes_ = 0;
  mutable std::atomic<bool> refuses_ = false;
  std::atomic<uint64_t> arrivals_ = 0;
  int busy_ = 0;     // cores
  int turns_ = 0;    // threads that wait in TakeTurn
  double turn_ = 0;  // of the line that was served last
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace onward::serving
