#include "serving/scheduler.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "serving/run_batch.h"

namespace onward::serving {
namespace {

using Clock = std::chrono::steady_clock;

double Seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

int64_t Nanoseconds(Clock::duration duration) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
}

// Why a request that has been read does not run.
absl::Status Refusal(const WaitingRequest& request, Clock::time_point now,
                     std::chrono::microseconds max_wait) {
  if (request.has_left()) return absl::CancelledError("the client has left");
  const auto waited = now - request.arrived;
  if (request.request->timeout && waited > *request.request->timeout)
    return absl::UnavailableError("Request timeout expired");
  if (waited > max_wait)
    return absl::UnavailableError("the server is overloaded: the request waited too long");
  return absl::OkStatus();
}

absl::StatusOr<InferRequest> Read(const ScheduledRequest& scheduled) {
  try {
    absl::StatusOr<InferRequest> request = scheduled.read();
    if (!request.ok()) return request;
    const absl::Status outputs = scheduled.model->CheckOutputs(*request);
    if (!outputs.ok()) return outputs;
    return request;
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("there is not enough memory for this request now");
  }
}

}  // namespace

Scheduler::Scheduler(const SchedulerOptions& options) : options_(options) {
  for (int i = 0; i < options_.cores; ++i) threads_.emplace_back([this] { Work(); });
}

Scheduler::~Scheduler() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
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
  return std::min(all, share) / options_.cores;
}

absl::Status Scheduler::AdmitLocked(const std::string& model, int64_t bytes) const {
  if (waiting_ >= options_.most_waiting ||
      (waiting_ > 0 && waiting_bytes_ + bytes > options_.most_waiting_bytes))
    return absl::UnavailableError("the server is overloaded: too many requests wait already");
  const auto line = lines_.find(model);
  if (line == lines_.end()) return absl::OkStatus();
  const double seconds = SecondsToWait(line->second);
  if (seconds <= Seconds(options_.max_wait)) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(
      "the server is overloaded: the request would wait for ", std::ceil(seconds * 10) / 10, " s"));
}

absl::Status Scheduler::Admit(const ServedModel& model, int64_t bytes) const {
  const std::lock_guard lock(mutex_);
  return AdmitLocked(model.name(), bytes);
}

absl::Status Scheduler::Submit(ScheduledRequest scheduled) {
  auto request = std::make_unique<WaitingRequest>();
  request->arrived = Clock::now();
  request->scheduled = std::move(scheduled);
  const std::string model = request->scheduled.model->name();
  const uint64_t number = request->number = ++arrivals_;
  const std::stop_token left = request->scheduled.client_left;
  // Not under the lock: it may call at once.
  request->when_left.emplace(left, [this, model, number] { Drop(model, number); });
  {
    const std::lock_guard lock(mutex_);
    const int64_t bytes = request->scheduled.bytes;
    if (absl::Status status = AdmitLocked(model, bytes); !status.ok()) return status;
    Line& line = lines_[model];
    if (line.size() == 0) line.turn = std::max(line.turn, turn_);
    ++waiting_;
    ++queued_;
    waiting_bytes_ += bytes;
    request->scheduled.model->statistics().AddPending(1);
    line.Add(std::move(request));
  }
  changed_.notify_one();
  if (left.stop_requested()) Drop(model, number);
  return absl::OkStatus();
}

void Scheduler::Drop(std::string model, uint64_t number) {
  std::unique_ptr<WaitingRequest> dropped;
  {
    const std::lock_guard lock(mutex_);
    dropped = lines_[model].Remove(number);
    if (dropped == nullptr) return;
    --waiting_;
    --queued_;
    waiting_bytes_ -= dropped->scheduled.bytes;
  }
  dropped->scheduled.model->statistics().AddPending(-1);
  dropped->Fail(absl::CancelledError("the client has left"));
}

Line& Scheduler::NextLine() {
  Line* next = nullptr;
  for (auto& [name, line] : lines_)
    if (line.size() > 0 && (next == nullptr || line.turn < next->turn)) next = &line;
  turn_ = next->turn;
  return *next;
}

void Scheduler::Work() {
  Lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] {
      return (queued_ > 0 && busy_ < options_.cores) || (waiting_ == 0 && ends_);
    });
    if (queued_ == 0) return;
    Line& line = NextLine();
    ++busy_;
    if (line.unread() > 0) ReadSome(lock, line);
    RunSome(lock, line);
    --busy_;
    changed_.notify_all();
  }
}

// What cannot be read has its reply at once. No request is destroyed under the lock: that may wait
// for Drop.
void Scheduler::ReadSome(Lock& lock, Line& line) {
  const size_t idle = static_cast<size_t>(options_.cores - busy_ + 1);
  WaitingRequests unread = line.TakeUnread((line.unread() + idle - 1) / idle);
  const size_t taken = unread.size();
  queued_ -= taken;
  line.in_hand += taken;
  lock.unlock();
  WaitingRequests read;
  int64_t refused_bytes = 0;
  for (auto& request : unread) {
    const Clock::time_point begin = Clock::now();
    request->times.queue = Nanoseconds(begin - request->arrived);
    absl::StatusOr<InferRequest> result = Read(request->scheduled);
    request->times.compute_input = Nanoseconds(Clock::now() - begin);
    if (result.ok()) {
      request->request = *std::move(result);
      read.push_back(std::move(request));
    } else {
      refused_bytes += request->scheduled.bytes;
      request->scheduled.model->statistics().AddPending(-1);
      request->Fail(result.status());
    }
  }
  unread.clear();
  lock.lock();
  line.in_hand -= taken;
  waiting_ -= taken - read.size();
  waiting_bytes_ -= refused_bytes;
  queued_ += read.size();
  for (auto& request : read) line.PutBack(std::move(request));
}

void Scheduler::RunSome(Lock& lock, Line& line) {
  WaitingRequests batch = line.TakeBatch();
  if (batch.empty()) return;
  queued_ -= batch.size();
  waiting_ -= batch.size();
  for (const auto& each : batch) waiting_bytes_ -= each->scheduled.bytes;
  line.in_hand += batch.size();
  if (queued_ > 0) changed_.notify_one();
  // A run that gains by threads gets all cores where nobody else needs them.
  const bool wide =
      batch.front()->scheduled.model->gains_by_threads() && busy_ == 1 && queued_ == 0;
  const int cores = wide ? options_.cores : 1;
  busy_ += cores - 1;
  const size_t taken = batch.size();
  lock.unlock();
  const Clock::time_point begin = Clock::now();
  WaitingRequests runs;
  double reading = 0;
  for (auto& each : batch) {
    each->scheduled.model->statistics().AddPending(-1);
    each->times.queue = Nanoseconds(begin - each->arrived) - each->times.compute_input;
    const absl::Status refusal = Refusal(*each, begin, options_.max_wait);
    reading += static_cast<double>(each->times.compute_input) * 1e-9;
    if (refusal.ok()) {
      runs.push_back(std::move(each));
    } else {
      each->Fail(refusal);
    }
  }
  const size_t count = runs.size();
  if (count > 0) RunBatch(std::move(runs), wide ? RunPriority::kNormal : RunPriority::kBackground);
  const double seconds = Seconds(Clock::now() - begin) * cores + reading;
  batch.clear();
  lock.lock();
  busy_ -= cores - 1;
  line.in_hand -= taken;
  line.turn += seconds;
  if (count == 0) return;
  const double own = seconds / static_cast<double>(count);
  line.cost = line.cost == 0 ? own : 0.8 * line.cost + 0.2 * own;
}

}  // namespace onward::serving
