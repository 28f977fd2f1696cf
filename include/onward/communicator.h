// Sums and values that processes which work together ("ranks") exchange. An engine is a class
// behind this interface: threads of one process (in_process.h), processes over TCP (gloo.h), GPUs
// (nccl_ranks.h).
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "onward/device.h"
#include "onward/tensor.h"

namespace onward {

// One rank's end. All ranks call the same functions in the same order, with tensors of equal dtype
// and size (see Agree). Errors name the rank that is gone and what this rank was doing: "rank 1
// (pid 4711, host node1) died in step 37" (Unavailable), "rank 1 (...) ended in step 37" (Aborted;
// it knows why). After the first error every call returns it. Not thread-safe.
class Communicator {
 public:
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return rank_; }  // 0 to size() - 1
  int size() const { return size_; }

  // Adds the tensors of all ranks, in place, of floats or integers. Every rank gets the same bits.
  // `stream`: of the device that holds them, which does its part later; unused for host memory.
  absl::Status AllReduce(const TensorView& values, Stream* stream = nullptr);
  // Rank `root`'s elements, of any dtype but strings, become those of all ranks.
  absl::Status Broadcast(const TensorView& values, int root, Stream* stream = nullptr);
  // Returns once every rank has called it.
  absl::Status Barrier();
  // Returns once what the stream holds, sums among it, is done; at once on the host.
  absl::Status WaitFor(Stream* stream);
  // The device whose memory it sums besides the host's; the host: none.
  virtual Device device() const { return {}; }

  // Messages say what this rank is doing: "step 37".
  virtual void set_activity(std::string activity) { activity_ = std::move(activity); }
  // The first error.
  const absl::Status& status() const { return status_; }
  // The first rank that is gone, for whose news this waits so long; -1: none, or it is not known.
  virtual int WaitForLostRank(std::chrono::milliseconds longest) = 0;

 protected:
  Communicator(int rank, int size) : rank_(rank), size_(size) {}
  // Their errors say who failed: "rank 1 (pid 4711, host node1) died".
  virtual absl::Status DoAllReduce(const TensorView& values, Stream* stream) = 0;
  virtual absl::Status DoBroadcast(const TensorView& values, int root, Stream* stream) = 0;
  virtual absl::Status DoWaitFor(Stream*) { return absl::OkStatus(); }
  // "... in step 37".
  absl::Status WithActivity(const absl::Status& status) const;

 private:
  absl::Status Keep(const absl::Status& status);

  const int rank_, size_;
  std::string activity_;
  absl::Status status_;
};

// The numbers of all ranks, by rank.
absl::StatusOr<std::vector<double>> AllGather(Communicator& communicator, double value);

// To be asked before ranks rely on being alike. FailedPrecondition on every rank where `value`
// differs; the message names the ranks and `what`: "the configuration".
absl::Status Agree(Communicator& communicator, std::string_view what, std::string_view value);

}  // namespace onward
