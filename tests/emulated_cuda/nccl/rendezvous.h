// Memory that the ranks of an emulated NCCL communicator share: processes of one host, or threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace onward::emulated_cuda {

// Each rank publishes a piece in its own part and then reads those of all others. Ranks count their
// stages: 2k+1 when the piece k is there, 2k+2 when they have read the others'.
class Rendezvous {
 public:
  static constexpr size_t kPiece = size_t{1} << 20;  // bytes of a rank's part
  static constexpr int kMostRanks = 16;

  // `name` begins with a slash. Null where the memory cannot be had.
  static Rendezvous* Join(const std::string& name, int rank, int size);
  void Leave();

  bool AllHaveJoined() const { return shared_->joined.load() == size_; }
  // Returns whether all ranks have ended the stage before this rank's next one.
  bool MayBeginStage() const;
  void EndStage() { ++shared_->stages[rank_]; }
  std::byte* part(int rank) const { return parts_ + static_cast<size_t>(rank) * kPiece; }
  int rank() const { return rank_; }
  int size() const { return size_; }

 private:
  struct Shared {
    std::atomic<int> joined;
    std::atomic<uint64_t> stages[kMostRanks];
  };

  Rendezvous() = default;

  Shared* shared_ = nullptr;
  std::byte* parts_ = nullptr;
  size_t bytes_ = 0;
  int rank_ = 0, size_ = 0;
};

}  // namespace onward::emulated_cuda
