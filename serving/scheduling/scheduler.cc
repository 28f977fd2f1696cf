#include "serving/scheduling/scheduler.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "serving/request_trace.h"
#include "serving/scheduling/steps.h"

namespace onward::serving {
namespace {

using Clock = std::chrono::steady_clock;

// Waits are estimates: who is let in to wait for all of max_wait is often refused at its end.
constexpr double kSure = 0.9;

double Seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

Scheduler::Scheduler(const SchedulerOptions& options) : options_(options) {
  for (int i = 0; i < options_.cores; ++i) threads_.emplace_back([this] { Work(); });
}

void Scheduler::End() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

double Scheduler::SecondsToWait(const Line& line) const {
  double all = 0;
  size_t lines = 0;
  for (const auto& [name, each] : lines_) {
    const size_t count = each.size() + each.in_hand;
    all += static_cast<double>(count) * each.cost;
    lines += count > 0;
  }
  const double own = static_cast<double>(line.size() + line.in_hand) * line.cost;
  // Each line gets its turns, however long the others are.
  const double share = own * static_cast<double>(std::max<size_t>(1, lines));
  const double seconds = std::min(all, share) / options_.cores;
  if (line.instances == 0) return seconds;
  return std::max(seconds, own / static_cast<double>(line.instances));
}

absl::Status Scheduler::AdmitLocked(const std::string& model, int64_t bytes) const {
  absl::Status status = CheckWait(model, bytes);
  refuses_ = !status.ok();
  return status;
}

absl::Status Scheduler::CheckWait(const std::string& model, int64_t bytes) const {
  if (ends_) return absl::UnavailableError("the server is stopping");
  if (waiting_ >= options_.most_waiting ||
      (waiting_ > 0 && waiting_bytes_ + bytes > options_.most_waiting_bytes))
    return absl::UnavailableError("the server is overloaded: too many requests wait already");
  // It runs at once, whatever runs took so far.
  if (queued_ == 0 && busy_ < options_.cores) return absl::OkStatus();
  const auto line = lines_.find(model);
  if (line == lines_.end()) return absl::OkStatus();
  const double seconds = SecondsToWait(line->second);
  if (seconds <= kSure * Seconds(options_.max_wait)) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(
      "the server is overloaded: the request would wait for ", std::ceil(seconds * 10) / 10, " s"));
}

absl::Status Scheduler::Admit(const ServedModel& model, int64_t bytes) const {
  const std::lock_guard lock(mutex_);
  return AdmitLocked(model.name(), bytes);
}

absl::Status Scheduler::Submit(ScheduledRequest scheduled, bool wakes) {
  WaitingRequests one(1);
  WaitingRequest& request = one.front();
  request.arrived = Clock::now();
  request.scheduled = std::move(scheduled);
  const std::string model = request.scheduled.model->name();
  const uint64_t number = request.number = ++arrivals_;
  const std::stop_token left = request.scheduled.client_left;
  // Not under the lock: it may call at once.
  request.when_left.emplace(left, [this, model, number] { Drop(model, number); });
  {
    const std::lock_guard lock(mutex_);
    const int64_t bytes = request.scheduled.bytes;
    if (absl::Status status = AdmitLocked(model, bytes); !status.ok()) return status;
    Line& line = lines_[model];
    if (absl::Status status = CheckRoom(request, line.size()); !status.ok()) return status;
    if (line.size() == 0) line.turn = std::max(line.turn, turn_);
    ++waiting_;
    ++queued_;
    waiting_bytes_ += bytes;
    request.scheduled.model->statistics().AddPending(1);
    line.Add(std::move(one));
  }
  if (wakes) Wake();
  if (left.stop_requested()) Drop(model, number);
  return absl::OkStatus();
}

void Scheduler::Wake() { changed_.notify_one(); }

void Scheduler::WakeNext() {
  if (queued_ > 0) changed_.notify_one();
  if (turns_ > 0) turns_changed_.notify_all();
}

void Scheduler::TakeTurn(const std::string& name, const std::stop_token& at_once,
                         absl::FunctionRef<void(RunPriority priority)> work) {
  Lock lock(mutex_);
  // No model has this name: requests and texts of one model take turns, too.
  Line& line = lines_[absl::StrCat(name, "/")];
  line.turn = std::max(line.turn, turn_);
  ++line.turns;
  ++turns_;
  turns_changed_.wait(lock, at_once, [&] { return busy_ < options_.cores && NextLine() == &line; });
  --line.turns;
  --turns_;
  turn_ = line.turn;
  const bool wide = busy_ == 0 && queued_ == 0 && turns_ == 0;
  const int cores = wide ? options_.cores : 1;
  busy_ += cores;
  WakeNext();
  lock.unlock();
  const Clock::time_point begin = Clock::now();
  work(wide ? RunPriority::kNormal : RunPriority::kBackground);
  const double seconds = Seconds(Clock::now() - begin) * cores;
  lock.lock();
  busy_ -= cores;
  line.turn += seconds;
  WakeNext();
}

void Scheduler::Drop(const std::string& model, uint64_t number) {
  WaitingRequests dropped;
  {
    const std::lock_guard lock(mutex_);
    const auto line = lines_.find(model);
    if (line != lines_.end()) dropped = line->second.Remove(number);
    if (dropped.empty()) return;
    queued_ -= dropped.size();
    Forget(dropped);
  }
  WaitingRequest& request = dropped.front();
  request.scheduled.model->statistics().AddPending(-1);
  FailSafely(request, [] { return absl::CancelledError("the client has left"); });
}

Line* Scheduler::NextLine() {
  Line* next = nullptr;
  for (auto& [name, line] : lines_)
    if (line.HasWork() && (next == nullptr || line.turn < next->turn)) next = &line;
  return next;
}

void Scheduler::Work() {
  Lock lock(mutex_);
  while (true) {
    Line* line = nullptr;
    changed_.wait(lock, [&] {
      line = queued_ > 0 && busy_ < options_.cores ? NextLine() : nullptr;
      if (line != nullptr && line->turns > 0) line = nullptr;
      return line != nullptr || (waiting_ == 0 && ends_);
    });
    if (line == nullptr) return;
    turn_ = line->turn;
    ++busy_;
    if (line->unread() > 0 && !(line->in_order && line->reads > 0)) ReadSome(lock, *line);
    RunSome(lock, *line);
    --busy_;
    // This thread takes what is next, and wakes another one if there is more.
    if (turns_ > 0) turns_changed_.notify_all();
    if (ends_ && waiting_ == 0) changed_.notify_all();
  }
}

// Requests that cannot be read have their replies at once. No request is destroyed under the lock:
// that may wait for Drop.
void Scheduler::ReadSome(Lock& lock, Line& line) {
  const size_t idle = line.in_order ? 1 : static_cast<size_t>(options_.cores - busy_ + 1);
  ++line.reads;
  WaitingRequests unread = line.TakeUnread((line.unread() + idle - 1) / idle);
  const size_t taken = unread.size();
  queued_ -= taken;
  line.in_hand += taken;
  WakeNext();
  lock.unlock();
  WaitingRequests refused;
  for (auto it = unread.begin(); it != unread.end();) {
    const auto each = it++;
    // One that is refused has its reply before ReadSafely returns.
    each->scheduled.model->statistics().AddPending(-1);
    if (ReadSafely(*each)) {
      each->scheduled.model->statistics().AddPending(1);
      continue;
    }
    refused.splice(refused.end(), unread, each);
  }
  lock.lock();
  --line.reads;
  line.in_hand -= taken;
  Forget(refused);
  queued_ += unread.size();
  PutBack(lock, line, std::move(unread));
  if (refused.empty()) return;
  lock.unlock();
  refused.clear();
  lock.lock();
}

void Scheduler::PutBack(Lock& lock, Line& line, WaitingRequests read) {
  WaitingRequests refused;
  while (!read.empty()) {
    WaitingRequests one;
    one.splice(one.end(), read, read.begin());
    WaitingRequest& request = one.front();
    try {
      if (request.scheduled.model->queue().levels > 0)
        request.refusal = CheckRoom(request, line.CountOf(request.priority()));
    } catch (const std::bad_alloc&) {
      request.refusal = absl::Status(absl::StatusCode::kResourceExhausted, "");
    }
    if (request.refusal.ok()) {
      line.PutBack(std::move(one));
    } else {
      refused.splice(refused.end(), one);
    }
  }
  if (refused.empty()) return;
  queued_ -= refused.size();
  Forget(refused);
  lock.unlock();
  for (WaitingRequest& each : refused) {
    each.scheduled.model->statistics().AddPending(-1);
    FailSafely(each, [&] { return each.refusal; });
  }
  refused.clear();
  lock.lock();
}

void Scheduler::Forget(const WaitingRequests& taken) {
  waiting_ -= taken.size();
  for (const WaitingRequest& each : taken) waiting_bytes_ -= each.scheduled.bytes;
}

void Scheduler::RefuseSome(WaitingRequests& batch, Clock::time_point now) const {
  WaitingRequests refused;
  for (auto it = batch.begin(); it != batch.end();) {
    const auto each = it++;
    each->scheduled.model->statistics().AddPending(-1);
    each->times.queue = Nanoseconds(now - each->arrived) - each->times.compute_input;
    if (each->refusal.ok() && each->IsInTime(now, options_.max_wait)) continue;
    if (absl::IsResourceExhausted(each->refusal)) {
      each->FailForMemory();
    } else {
      FailSafely(*each, [&] { return Refusal(*each, now, options_.max_wait); });
    }
    refused.splice(refused.end(), batch, each);
  }
}

void Scheduler::RunSome(Lock& lock, Line& line) {
  WaitingRequests batch, late;
  line.TakeBatch(Clock::now(), options_.max_wait, batch, late);
  if (batch.empty() && late.empty()) return;
  queued_ -= batch.size() + late.size();
  Forget(batch);
  Forget(late);
  const size_t taken = batch.size();
  line.in_hand += taken;
  ++line.running;
  WakeNext();
  // A run that gains by threads gets all cores where nobody else needs them.
  const bool wide = taken > 0 && batch.front().scheduled.model->gains_by_threads() && busy_ == 1 &&
                    queued_ == 0 && turns_ == 0;
  const int cores = wide ? options_.cores : 1;
  busy_ += cores - 1;
  lock.unlock();
  const Clock::time_point begin = Clock::now();
  RefuseSome(batch, begin);
  double reading = 0;
  for (WaitingRequest& each : batch) {
    AddSpan(each.scheduled.trace.get(), "waiting", each.ready(), begin);
    reading += static_cast<double>(each.times.compute_input) * 1e-9;
  }
  const size_t count = batch.size();
  if (count > 0) RunSafely(batch, wide ? RunPriority::kNormal : RunPriority::kBackground);
  const double seconds = Seconds(Clock::now() - begin) * cores + reading;
  batch.clear();
  RefuseSome(late, begin);
  late.clear();
  lock.lock();
  busy_ -= cores - 1;
  line.in_hand -= taken;
  --line.running;
  line.turn += seconds;
  if (count == 0) return;
  const double own = seconds / static_cast<double>(count);
  line.cost = line.cost == 0 ? own : 0.8 * line.cost + 0.2 * own;
}

}  // namespace onward::serving
