// The sessions of a model, one for each device that its instances are on.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/session.h"

namespace onward::serving {

struct DeviceSession {
  std::shared_ptr<Session> session;
  size_t runs = 0;  // at a time; 0: any number
};

// Thread-safe.
class Instances {
 public:
  // At least one, of equal models.
  explicit Instances(std::vector<DeviceSession> sessions);

  // The one that stands for all where they are alike.
  Session& first() const { return *places_.front().session; }
  // Runs where the fewest runs are under way, for each that may be. Errors as Session::Run.
  absl::StatusOr<Session::Outputs> Run(const Session::Inputs& inputs,
                                       const RunOptions& options) const;
  void ReleaseIdle(std::chrono::steady_clock::time_point unused_since) const;
  // The most runs at a time; 0: any number.
  size_t most_runs() const;
  std::vector<Session*> all() const;

 private:
  struct Place {
    std::shared_ptr<Session> session;
    size_t most_runs;
    mutable std::atomic<size_t> runs = 0;  // under way
  };

  const Place& LeastBusy() const;

  std::vector<Place> places_;
};

}  // namespace onward::serving
