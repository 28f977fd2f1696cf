#include "serving/scheduling/line.h"

#include <algorithm>
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

}  // namespace

void Line::Add(std::unique_ptr<WaitingRequest> request) {
  ++unread_;
  in_order = in_order || request->sequences() != nullptr;
  instances = request->scheduled.model->queue().instances;
  may_delay = may_delay || request->scheduled.model->queue().delays();
  waiting_.push_back(std::move(request));
}

void Line::PutBack(std::unique_ptr<WaitingRequest> request) {
  const auto before = [](const std::unique_ptr<WaitingRequest>& a,
                         const std::unique_ptr<WaitingRequest>& b) {
    if (a->delayed != b->delayed) return b->delayed;
    if (a->priority() != b->priority()) return a->priority() < b->priority();
    return a->number < b->number;
  };
  // Those that are not read yet stand in the order of their numbers, with the default priority.
  const auto place = std::upper_bound(waiting_.begin(), waiting_.end(), request, before);
  waiting_.insert(place, std::move(request));
}

std::unique_ptr<WaitingRequest> Line::Remove(uint64_t number) {
  const auto found = std::find_if(waiting_.begin(), waiting_.end(),
                                  [&](const auto& each) { return each->number == number; });
  if (found == waiting_.end()) return nullptr;
  std::unique_ptr<WaitingRequest> removed = std::move(*found);
  waiting_.erase(found);
  if (!removed->request) --unread_;
  return removed;
}

WaitingRequests Line::TakeUnread(size_t most) {
  WaitingRequests taken;
  for (auto it = waiting_.begin(); it != waiting_.end() && taken.size() < most;) {
    if ((*it)->request) {
      ++it;
      continue;
    }
    taken.push_back(std::move(*it));
    it = waiting_.erase(it);
    --unread_;
  }
  return taken;
}

size_t Line::CountOf(uint64_t priority) const {
  return static_cast<size_t>(std::count_if(waiting_.begin(), waiting_.end(), [&](const auto& each) {
    return each->request && each->priority() == priority;
  }));
}

void Line::DelayLate(std::chrono::steady_clock::time_point now) {
  WaitingRequests late;
  for (auto& each : waiting_) {
    if (!each->request || each->delayed || !each->Waited(now)) continue;
    const QueuePolicy* const policy = each->policy();
    if (policy != nullptr && policy->delays) late.push_back(std::move(each));
  }
  std::erase(waiting_, nullptr);
  for (auto& each : late) {
    each->delayed = true;
    PutBack(std::move(each));
  }
}

bool Line::HasWork() const {
  if (unread_ > 0 && !(in_order && reads > 0)) return true;
  if (waiting_.size() == unread_ || (instances > 0 && running >= instances)) return false;
  if (!in_order) return true;
  SequenceOrder order;
  return std::any_of(waiting_.begin(), waiting_.end(),
                     [&](const auto& each) { return each->request && order.MayRun(*each); });
}

WaitingRequests Line::TakeBatch(std::chrono::steady_clock::time_point now) {
  WaitingRequests batch;
  if (instances > 0 && running >= instances) return batch;
  if (may_delay) DelayLate(now);
  SequenceOrder order;
  const auto first = std::find_if(waiting_.begin(), waiting_.end(), [&](const auto& each) {
    return each->request && order.MayRun(*each);
  });
  if (first == waiting_.end()) return batch;
  const bool prepared = Prepare(**first, now);
  Claim(**first);
  const int64_t most = (*first)->scheduled.model->most_batch_rows();
  int64_t rows = RowsOf((*first)->request->inputs);
  batch.push_back(std::move(*first));
  const WaitingRequest& leader = *batch.front();
  if (rows == 0 || !prepared) {
    waiting_.erase(first);
    return batch;
  }
  auto kept = first;  // those before stay where they are
  for (auto it = first + 1; it != waiting_.end(); ++it) {
    WaitingRequest& each = **it;
    const bool follows = rows < most && each.request && order.MayRun(each) && Prepare(each, now) &&
                         CanFollow(leader, each);
    const int64_t more = follows ? RowsOf(each.request->inputs) : 0;
    if (more > 0 && rows + more <= most) {
      rows += more;
      Claim(each);
      batch.push_back(std::move(*it));
    } else {
      *kept++ = std::move(*it);
    }
  }
  waiting_.erase(kept, waiting_.end());
  return batch;
}

}  // namespace onward::serving
