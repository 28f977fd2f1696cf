#include "collectives/in_process.h"

#include <condition_variable>
#include <cstring>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "collectives/sum.h"

namespace onward::collectives {
namespace {

struct Call {
  TensorView values;
  int root = -1;  // -1: an all-reduce
};

std::string TextOf(const Call& call) {
  return absl::StrCat(call.root < 0 ? "adds up " : "sends ", call.values.num_elements(), " of ",
                      std::string(DTypeName(call.values.dtype)));
}

// Calls of all ranks meet in rounds: the last one to come does the work.
class Meeting {
 public:
  explicit Meeting(int size) : calls_(static_cast<size_t>(size)) {}

  absl::Status Meet(int rank, const Call& call) {
    std::unique_lock lock(mutex_);
    if (lost_ >= 0) return Gone();
    calls_[static_cast<size_t>(rank)] = call;
    if (++arrived_ == calls_.size()) {
      arrived_ = 0;
      ++round_;
      outcome_ = Work();
      all_here_.notify_all();
      return outcome_;
    }
    const int64_t round = round_;
    all_here_.wait(lock, [&] { return round_ != round || lost_ >= 0; });
    return round_ != round ? outcome_ : Gone();
  }

  void Leave(int rank) {
    const std::lock_guard lock(mutex_);
    if (lost_ < 0) lost_ = rank;
    all_here_.notify_all();
  }

  int lost() {
    const std::lock_guard lock(mutex_);
    return lost_;
  }

 private:
  absl::Status Gone() const { return absl::AbortedError(absl::StrCat("rank ", lost_, " ended")); }

  absl::Status Work() {
    const Call& first = calls_[0];
    for (size_t i = 1; i < calls_.size(); ++i) {
      const Call& call = calls_[i];
      if (call.root == first.root && call.values.dtype == first.values.dtype &&
          call.values.num_elements() == first.values.num_elements())
        continue;
      return absl::FailedPreconditionError(
          absl::StrCat("rank 0 ", TextOf(first), ", rank ", i, " ", TextOf(call)));
    }
    const auto bytes = static_cast<size_t>(first.values.byte_size());
    const auto count = static_cast<size_t>(first.values.num_elements());
    const Call& source = first.root < 0 ? first : calls_[static_cast<size_t>(first.root)];
    for (size_t i = 1; first.root < 0 && i < calls_.size(); ++i)
      SumOf(first.values.dtype)(first.values.data, first.values.data, calls_[i].values.data, count);
    for (const Call& call : calls_)
      if (call.values.data != source.values.data && bytes > 0)
        std::memcpy(call.values.data, source.values.data, bytes);
    return absl::OkStatus();
  }

  std::mutex mutex_;
  std::condition_variable all_here_;
  std::vector<Call> calls_;
  size_t arrived_ = 0;
  int64_t round_ = 0;
  absl::Status outcome_;  // of the last round
  int lost_ = -1;         // the first rank that left
};

class InProcess : public Communicator {
 public:
  InProcess(std::shared_ptr<Meeting> meeting, int rank, int size)
      : Communicator(rank, size), meeting_(std::move(meeting)) {}
  ~InProcess() override { meeting_->Leave(rank()); }

  int WaitForLostRank(std::chrono::milliseconds) override { return meeting_->lost(); }

 protected:
  absl::Status DoAllReduce(const TensorView& values, Stream*) override {
    return meeting_->Meet(rank(), {values, -1});
  }
  absl::Status DoBroadcast(const TensorView& values, int root, Stream*) override {
    return meeting_->Meet(rank(), {values, root});
  }

 private:
  const std::shared_ptr<Meeting> meeting_;
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> InProcessRanks(int size) {
  auto meeting = std::make_shared<Meeting>(size);
  std::vector<std::unique_ptr<Communicator>> ranks;
  for (int rank = 0; rank < size; ++rank)
    ranks.push_back(std::make_unique<InProcess>(meeting, rank, size));
  return ranks;
}

}  // namespace onward::collectives
