#include "serving/scheduling/line.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <set>
#include <string>
#include <utility>

#include "serving/scheduling/batch.h"

namespace onward::serving {
namespace {

// A model that was loaded again is another one.
bool CanFollow(const WaitingRequest& leader, const WaitingRequest& request) {
  return request.request && request.scheduled.model == leader.scheduled.model &&
         CanJoin(leader.request->inputs, request.request->inputs);
}

// The request gets the states of its sequence; where it cannot, why.
bool Prepare(WaitingRequest& request, std::chrono::steady_clock::time_point now) {
  if (request.sequences() == nullptr) return true;
  request.refusal = request.sequences()->Prepare(*request.request, now);
  return request.refusal.ok();
}

void Claim(WaitingRequest& request) {
  if (request.sequences() != nullptr && request.refusal.ok())
    request.turn = request.sequences()->Claim(request.request->sequence);
}

// Tells, request after request, which ones have to wait for others of their sequences.
class SequenceOrder {
 public:
  bool MayRun(const WaitingRequest& request) {
    if (request.sequences() == nullptr) return true;
    const Sequence& sequence = request.request->sequence;
    return passed_.insert({request.sequences(), SequenceKey(sequence)}).second &&
           !request.sequences()->IsBusy(sequence);
  }

 private:
  std::set<std::pair<const Sequences*, std::string>> passed_;
};

// A batch while it grows.
class Batch {
 public:
  explicit Batch(std::chrono::steady_clock::time_point now) : now_(now) {}

  bool is_full() const { return has_leader_ && rows_ >= most_; }

  // True if the request becomes a part of the batch, whose first one is `leader`; null: this is it.
  bool Takes(WaitingRequest& request, const WaitingRequest* leader) {
    const bool prepared = Prepare(request, now_);
    if (leader == nullptr) {
      rows_ = RowsOf(request.request->inputs);
      most_ = prepared && rows_ > 0 ? request.scheduled.model->most_batch_rows() : 0;
    } else {
      const int64_t more =
          prepared && CanFollow(*leader, request) ? RowsOf(request.request->inputs) : 0;
      if (more == 0 || rows_ + more > most_) return false;
      rows_ += more;
    }
    Claim(request);
    has_leader_ = true;
    return true;
  }

 private:
  const std::chrono::steady_clock::time_point now_;
  bool has_leader_ = false;
  int64_t rows_ = 0, most_ = 0;
};

}  // namespace

void Line::Add(WaitingRequests one) {
  const ServedModel& model = *one.front().scheduled.model;
  in_order = in_order || one.front().sequences() != nullptr;
  instances = model.instances().most_runs();
  may_delay = may_delay || model.queue().delays();
  unread_.splice(unread_.end(), one);
}

void Line::PutBack(WaitingRequests one) {
  const WaitingRequest& request = one.front();
  const auto goes_before = [&](const WaitingRequest& other) {
    if (request.delayed != other.delayed) return other.delayed;
    if (request.priority() != other.priority()) return request.priority() < other.priority();
    return request.number < other.number;
  };
  // Most have come last.
  auto place = read_.end();
  while (place != read_.begin() && goes_before(*std::prev(place))) --place;
  read_.splice(place, one);
}

WaitingRequests Line::Remove(uint64_t number) {
  WaitingRequests removed;
  for (WaitingRequests* list : {&unread_, &read_}) {
    const auto found = std::find_if(list->begin(), list->end(), [&](const WaitingRequest& each) {
      return each.number == number;
    });
    if (found == list->end()) continue;
    removed.splice(removed.end(), *list, found);
    break;
  }
  return removed;
}

WaitingRequests Line::TakeUnread(size_t most) {
  WaitingRequests taken;
  const auto end = std::next(unread_.begin(), static_cast<ptrdiff_t>(std::min(most, unread())));
  taken.splice(taken.end(), unread_, unread_.begin(), end);
  return taken;
}

size_t Line::CountOf(uint64_t priority) const {
  return static_cast<size_t>(
      std::count_if(read_.begin(), read_.end(),
                    [&](const WaitingRequest& each) { return each.priority() == priority; }));
}

void Line::DelayLate(std::chrono::steady_clock::time_point now) {
  WaitingRequests late;
  for (auto it = read_.begin(); it != read_.end();) {
    const auto each = it++;
    if (each->delayed || !each->Waited(now)) continue;
    const QueuePolicy* const policy = each->policy();
    if (policy != nullptr && policy->delays) late.splice(late.end(), read_, each);
  }
  while (!late.empty()) {
    WaitingRequests one;
    one.splice(one.end(), late, late.begin());
    one.front().delayed = true;
    PutBack(std::move(one));
  }
}

bool Line::HasWork() const {
  if (turns > 0) return true;
  if (!unread_.empty() && !(in_order && reads > 0)) return true;
  if (read_.empty() || (instances > 0 && running >= instances)) return false;
  if (!in_order) return true;
  SequenceOrder order;
  return std::any_of(read_.begin(), read_.end(),
                     [&](const WaitingRequest& each) { return order.MayRun(each); });
}

void Line::TakeBatch(std::chrono::steady_clock::time_point now, std::chrono::microseconds max_wait,
                     WaitingRequests& batch, WaitingRequests& late) {
  if (instances > 0 && running >= instances) return;
  if (may_delay) DelayLate(now);
  SequenceOrder order;
  Batch grows(now);
  for (auto it = read_.begin(); it != read_.end() && !grows.is_full();) {
    const auto each = it++;
    try {
      if (!order.MayRun(*each)) continue;
      if (!each->IsInTime(now, max_wait)) {
        late.splice(late.end(), read_, each);
      } else if (grows.Takes(*each, batch.empty() ? nullptr : &batch.front())) {
        batch.splice(batch.end(), read_, each);
      }
    } catch (const std::bad_alloc&) {
      each->refusal = absl::Status(absl::StatusCode::kResourceExhausted, "");
      late.splice(late.end(), read_, each);
    }
  }
}

}  // namespace onward::serving
