#include "serving/scheduling/scheduler.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "serving/request_trace.h"
#include "serving/scheduling/run_batch.h"

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
  if (!request.refusal.ok()) return request.refusal;
  const auto waited = now - request.arrived;
  if (request.Waited(now) && !request.delayed)
    return absl::UnavailableError("Request timeout expired");
  if (waited > max_wait)
    return absl::UnavailableError("the server is overloaded: the request waited too long");
  return absl::OkStatus();
}

// Whether the queue of the request's priority, where `there` wait, takes it.
absl::Status CheckRoom(const WaitingRequest& request, size_t there) {
  // Where there are several queues, the body says which one it is.
  if (!request.request && request.scheduled.model->queue().levels > 0) return absl::OkStatus();
  const QueuePolicy* const policy = request.policy();
  if (policy == nullptr || policy->most == 0 || there < policy->most) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("Exceeds maximum queue size: ", there, " requests wait for the model"));
}

absl::StatusOr<InferRequest> Read(const ScheduledRequest& scheduled) {
  try {
    absl::StatusOr<InferRequest> request = scheduled.read();
    if (!request.ok()) return request;
    const absl::Status outputs = scheduled.model->CheckRequest(*request);
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
  if (waiting_ >= options_.most_waiting ||
      (waiting_ > 0 && waiting_bytes_ + bytes > options_.most_waiting_bytes))
    return absl::UnavailableError("the server is overloaded: too many requests wait already");
  // It runs at once, whatever runs took so far.
  if (queued_ == 0 && busy_ < options_.cores) return absl::OkStatus();
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

absl::Status Scheduler::Submit(ScheduledRequest scheduled, bool wakes) {
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
    if (absl::Status status = CheckRoom(*request, line.size()); !status.ok()) return status;
    if (line.size() == 0) line.turn = std::max(line.turn, turn_);
    ++waiting_;
    ++queued_;
    waiting_bytes_ += bytes;
    request->scheduled.model->statistics().AddPending(1);
    line.Add(std::move(request));
  }
  if (wakes) Wake();
  if (left.stop_requested()) Drop(model, number);
  return absl::OkStatus();
}

void Scheduler::Wake() { changed_.notify_one(); }

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
      return line != nullptr || (waiting_ == 0 && ends_);
    });
    if (line == nullptr) return;
    turn_ = line->turn;
    ++busy_;
    if (line->unread() > 0 && !(line->in_order && line->reads > 0)) ReadSome(lock, *line);
    RunSome(lock, *line);
    --busy_;
    // This thread takes what is next, and wakes another one if there is more.
    if (ends_ && waiting_ == 0) changed_.notify_all();
  }
}

// What cannot be read has its reply at once. No request is destroyed under the lock: that may wait
// for Drop.
void Scheduler::ReadSome(Lock& lock, Line& line) {
  const size_t idle = line.in_order ? 1 : static_cast<size_t>(options_.cores - busy_ + 1);
  ++line.reads;
  WaitingRequests unread = line.TakeUnread((line.unread() + idle - 1) / idle);
  const size_t taken = unread.size();
  queued_ -= taken;
  line.in_hand += taken;
  if (queued_ > 0) changed_.notify_one();
  lock.unlock();
  WaitingRequests read;
  int64_t refused_bytes = 0;
  for (auto& request : unread) {
    const Clock::time_point begin = Clock::now();
    request->times.queue = Nanoseconds(begin - request->arrived);
    absl::StatusOr<InferRequest> result = Read(request->scheduled);
    request->times.compute_input = Nanoseconds(Clock::now() - begin);
    AddSpan(request->scheduled.trace.get(), "waiting", request->arrived, begin);
    AddSpan(request->scheduled.trace.get(), "reading", begin, request->ready());
    if (result.ok()) {
      request->request = *std::move(result);
      request->most_wait = request->scheduled.model->queue().TakeTimeout(*request->request);
      if (request->sequences() != nullptr)
        request->sequence = request->sequences()->Hold(request->request->sequence);
      read.push_back(std::move(request));
    } else {
      refused_bytes += request->scheduled.bytes;
      request->scheduled.model->statistics().AddPending(-1);
      request->Fail(result.status());
    }
  }
  unread.clear();
  lock.lock();
  --line.reads;
  line.in_hand -= taken;
  waiting_ -= taken - read.size();
  waiting_bytes_ -= refused_bytes;
  queued_ += read.size();
  PutBack(lock, line, std::move(read));
}

void Scheduler::PutBack(Lock& lock, Line& line, WaitingRequests read) {
  WaitingRequests refused;
  for (auto& request : read) {
    if (request->scheduled.model->queue().levels > 0)
      request->refusal = CheckRoom(*request, line.CountOf(request->priority()));
    if (request->refusal.ok()) {
      line.PutBack(std::move(request));
    } else {
      --queued_;
      --waiting_;
      waiting_bytes_ -= request->scheduled.bytes;
      refused.push_back(std::move(request));
    }
  }
  if (refused.empty()) return;
  lock.unlock();
  for (const auto& each : refused) {
    each->scheduled.model->statistics().AddPending(-1);
    each->Fail(each->refusal);
  }
  refused.clear();
  lock.lock();
}

void Scheduler::RunSome(Lock& lock, Line& line) {
  WaitingRequests batch = line.TakeBatch(Clock::now());
  if (batch.empty()) return;
  queued_ -= batch.size();
  waiting_ -= batch.size();
  for (const auto& each : batch) waiting_bytes_ -= each->scheduled.bytes;
  line.in_hand += batch.size();
  ++line.running;
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
    AddSpan(each->scheduled.trace.get(), "waiting", each->ready(), begin);
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
  --line.running;
  line.turn += seconds;
  if (count == 0) return;
  const double own = seconds / static_cast<double>(count);
  line.cost = line.cost == 0 ? own : 0.8 * line.cost + 0.2 * own;
}

}  // namespace onward::serving
