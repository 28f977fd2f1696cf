// Processes find each other over TCP, and notice that one of them is gone: each rank holds a
// connection to rank 0, whose end reveals it. Gloo's own errors do not name a rank.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/ranks.h"

namespace onward::collectives {

class RollCall {
 public:
  // Returns once every rank is there. InvalidArgument: ranks that disagree on `size`, two of one
  // number, or an address that is not one; DeadlineExceeded names ranks that did not come.
  static absl::StatusOr<std::unique_ptr<RollCall>> Join(const RankOptions& options);
  // Tells the others that this rank has ended.
  ~RollCall();

  // By which address the other ranks reach this one.
  const std::string& local_address() const { return local_address_; }

  // Every rank's text, by rank; once, before Watch.
  absl::StatusOr<std::vector<std::string>> Gather(const std::string& mine);

  // From now on a thread notices ranks that are gone.
  void Watch();
  // The first rank that is gone: waits so long for the news, as they travel by rank 0.
  struct Loss {
    int rank = -1;      // none
    bool died = false;  // without saying that it ends
  };
  Loss WaitForLoss(std::chrono::milliseconds longest);
  // "rank 1 (pid 4711, host node1)".
  const std::string& name(int rank) const { return names_[static_cast<size_t>(rank)]; }

 private:
  explicit RollCall(const RankOptions& options) : options_(options) {}
  absl::Status Listen();   // of rank 0
  absl::Status Connect();  // of the others
  void Note(int rank, bool died);
  bool ReadNews(size_t peer);  // false: nothing more comes from there

  const RankOptions options_;
  std::string local_address_;
  std::vector<int> peers_;  // by rank: its connection, -1 for none (the own one, or closed)
  std::vector<std::string> names_;
  int wake_[2] = {-1, -1};  // a pipe that ends the watcher
  std::thread watcher_;
  std::mutex mutex_;  // of loss_
  std::condition_variable lost_;
  Loss loss_;
};

}  // namespace onward::collectives
