#include "serving/line.h"

#include <algorithm>
#include <utility>

#include "serving/batch.h"

namespace onward::serving {
namespace {

// A model that was loaded again is another one.
bool CanFollow(const WaitingRequest& leader, const WaitingRequest& request) {
  return request.request && request.scheduled.model == leader.scheduled.model &&
         CanJoin(leader.request->inputs, request.request->inputs);
}

}  // namespace

void Line::Add(std::unique_ptr<WaitingRequest> request) {
  ++unread_;
  waiting_.push_back(std::move(request));
}

void Line::PutBack(std::unique_ptr<WaitingRequest> request) {
  const auto before = [](const std::unique_ptr<WaitingRequest>& a,
                         const std::unique_ptr<WaitingRequest>& b) {
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

WaitingRequests Line::TakeBatch() {
  WaitingRequests batch;
  const auto first = std::find_if(waiting_.begin(), waiting_.end(),
                                  [](const auto& each) { return each->request.has_value(); });
  if (first == waiting_.end()) return batch;
  const int64_t most = (*first)->scheduled.model->most_batch_rows();
  int64_t rows = RowsOf((*first)->request->inputs);
  batch.push_back(std::move(*first));
  const WaitingRequest& leader = *batch.front();
  if (rows == 0) {
    waiting_.erase(first);
    return batch;
  }
  auto kept = first;  // those before stay where they are
  for (auto it = first + 1; it != waiting_.end(); ++it) {
    const int64_t more = CanFollow(leader, **it) ? RowsOf((*it)->request->inputs) : 0;
    if (more > 0 && rows + more <= most) {
      rows += more;
      batch.push_back(std::move(*it));
    } else {
      *kept++ = std::move(*it);
    }
  }
  waiting_.erase(kept, waiting_.end());
  return batch;
}

}  // namespace onward::serving
