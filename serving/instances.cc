#include "serving/instances.h"

#include <algorithm>

namespace onward::serving {
namespace {

// Counts a run while it lives.
class Counted {
 public:
  explicit Counted(std::atomic<size_t>& runs) : runs_(runs) { ++runs_; }
  ~Counted() { --runs_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  std::atomic<size_t>& runs_;
};

}  // namespace

Instances::Instances(std::vector<DeviceSession> sessions) : places_(sessions.size()) {
  for (size_t i = 0; i < sessions.size(); ++i) {
    places_[i].session = std::move(sessions[i].session);
    places_[i].most_runs = sessions[i].runs;
  }
}

const Instances::Place& Instances::LeastBusy() const {
  const auto share = [](const Place& place) {
    return static_cast<double>(place.runs.load()) /
           static_cast<double>(std::max<size_t>(place.most_runs, 1));
  };
  const Place* best = &places_.front();
  for (const Place& place : places_)
    if (share(place) < share(*best)) best = &place;
  return *best;
}

absl::StatusOr<Session::Outputs> Instances::Run(const Session::Inputs& inputs,
                                                const RunOptions& options) const {
  const Place& place = LeastBusy();
  const Counted counted(place.runs);
  return place.session->Run(inputs, options);
}

void Instances::ReleaseIdle(std::chrono::steady_clock::time_point unused_since) const {
  for (const Place& place : places_) place.session->ReleaseIdle(unused_since);
}

size_t Instances::most_runs() const {
  size_t most = 0;
  for (const Place& place : places_) {
    if (place.most_runs == 0) return 0;
    most += place.most_runs;
  }
  return most;
}

std::vector<Session*> Instances::all() const {
  std::vector<Session*> sessions;
  for (const Place& place : places_) sessions.push_back(place.session.get());
  return sessions;
}

}  // namespace onward::serving
