// The sequences of requests to one model, and the states that they carry from run to run.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/session.h"
#include "serving/protocol/infer_request.h"
#include "serving/repository/sequence_config.h"

namespace onward::serving {

// The text that stands for a sequence; "" for none. The numbers and the texts of clients do not
// meet.
std::string SequenceKey(const Sequence& sequence);

// A request takes part in its sequence so: Check, Hold while it waits, Prepare and Claim when its
// turn has come, and its turn ends with its run. Thread-safe; lives in a shared_ptr.
class Sequences : public std::enable_shared_from_this<Sequences> {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit Sequences(SequenceConfig config) : config_(std::move(config)) {}

  // The turn of a request of a sequence. At its end the next one may be claimed; a sequence ends
  // with it if the request said so, or if it began it and nothing was kept.
  class Turn {
   public:
    Turn(std::shared_ptr<Sequences> sequences, Sequence sequence)
        : sequences_(std::move(sequences)), sequence_(std::move(sequence)) {}
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() { sequences_->Finish(sequence_, ran_, kept_); }
    // The states that the run of this turn gave; `copy`: they refer to a larger memory.
    void Keep(const Session::Outputs& outputs, bool copy);

   private:
    const std::shared_ptr<Sequences> sequences_;
    const Sequence sequence_;
    bool ran_ = false;
    std::vector<Value> kept_;
  };

  // InvalidArgument: a request of no sequence, or with an input that the server gives.
  absl::Status Check(const InferRequest& request) const;
  // While somebody has it, the sequence is not idle. Null: it is not there.
  std::shared_ptr<void> Hold(const Sequence& sequence) const;
  // Returns whether a request of the sequence runs now.
  bool IsBusy(const Sequence& sequence) const;
  // Gives the request the inputs that are the server's; again, if it is done again.
  // InvalidArgument: the sequence is not known and the request does not start it, or the size of a
  // state cannot be told. Unavailable: there are too many sequences.
  absl::Status Prepare(InferRequest& request, Time now);
  // The turn of a prepared request, whose sequence is not busy.
  std::unique_ptr<Turn> Claim(const Sequence& sequence);
  // Ends those that nobody holds and whose last request ended too long ago.
  void EndIdle(Time now);
  size_t size() const;
  const SequenceConfig& config() const { return config_; }

 private:
  struct Live {
    std::vector<Value> states;  // in the configuration's order
    Time last{};                // when the last request ended
    bool busy = false;
    std::shared_ptr<void> held = std::make_shared<int>();
  };

  void EndIdleLocked(Time now);
  absl::StatusOr<std::vector<Value>> Beginning(const InferRequest& request) const;
  absl::Status GiveControls(InferRequest& request) const;
  void Finish(const Sequence& sequence, bool ran, std::vector<Value>& states);

  const SequenceConfig config_;
  mutable std::mutex mutex_;
  std::map<std::string, Live> live_;  // guarded by mutex_
};

}  // namespace onward::serving
