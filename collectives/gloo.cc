// Gloo throws, names no rank, and ends the process where ranks give it buffers of different sizes:
// what comes from it is caught here, who is gone says the roll call, and sizes are agreed on before
// (Agree).
#include "collectives/gloo.h"

#ifdef ONWARD_GLOO

#include <gloo/allreduce.h>
#include <gloo/broadcast.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <map>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "collectives/roll_call.h"
#include "collectives/sum.h"
#include "onward/status.h"

namespace onward::collectives {
namespace {

// Others may evaluate or write for long; that one is gone says its connection.
constexpr auto kLongest = std::chrono::hours(24 * 7);
// The time that the news of a rank's end may take after its connections broke.
constexpr auto kNews = std::chrono::milliseconds(2000);
// The time after that news for which a call may still wait for the rank.
constexpr auto kHang = std::chrono::milliseconds(2500);

// Each rank sets one key, which all get once the last one has set its own.
class GatheringStore : public gloo::rendezvous::Store {
 public:
  explicit GatheringStore(RollCall& roll_call) : roll_call_(roll_call) {}

  void set(const std::string& key, const std::vector<char>& data) override {
    const absl::StatusOr<std::vector<std::string>> all =
        roll_call_.Gather(absl::StrCat(key, "\n", std::string(data.begin(), data.end())));
    if (!all.ok()) throw std::runtime_error(std::string(all.status().message()));
    for (const std::string& each : *all) {
      const size_t end = each.find('\n');
      values_[each.substr(0, end)] = {each.begin() + static_cast<ptrdiff_t>(end) + 1, each.end()};
    }
  }
  std::vector<char> get(const std::string& key) override { return values_.at(key); }
  void wait(const std::vector<std::string>&) override {}

 private:
  RollCall& roll_call_;
  std::map<std::string, std::vector<char>> values_;
};

// Gloo writes to sockets whose other end may be closed. While one of these lives, such a write
// fails with an error in this thread and those that it starts, instead of ending the process by
// SIGPIPE.
class NoBrokenPipes {
 public:
  NoBrokenPipes() {
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoBrokenPipes() {
    const timespec now = {};
    while (!was_pending_ && sigtimedwait(&pipe_, nullptr, &now) == SIGPIPE) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoBrokenPipes(const NoBrokenPipes&) = delete;
  NoBrokenPipes& operator=(const NoBrokenPipes&) = delete;

 private:
  sigset_t pipe_, before_;
  bool was_pending_;
};

class Gloo : public Communicator {
 public:
  Gloo(const RankOptions& options, std::unique_ptr<RollCall> roll_call)
      : Communicator(options.rank, options.size),
        roll_call_(std::move(roll_call)),
        on_hang_(options.on_hang) {}
  ~Gloo() override {
    ending_ = true;
    if (guard_.joinable()) guard_.join();
  }

  absl::Status Connect(std::chrono::seconds patience) {
    return Caught([&] {
      gloo::transport::tcp::attr where;
      where.hostname = roll_call_->local_address();
      device_ = gloo::transport::tcp::CreateDevice(where);
      auto context = std::make_shared<gloo::rendezvous::Context>(rank(), size());
      context->setTimeout(patience);
      GatheringStore store(*roll_call_);
      context->connectFullMesh(store, device_);
      context->setTimeout(kLongest);
      context_ = std::move(context);
      roll_call_->Watch();
      if (on_hang_ != nullptr) guard_ = std::thread([this] { Guard(); });
    });
  }

  int WaitForLostRank(std::chrono::milliseconds longest) override {
    return roll_call_->WaitForLoss(longest).rank;
  }

 protected:
  absl::Status DoAllReduce(const TensorView& values, Stream*) override {
    const auto bytes = static_cast<size_t>(values.byte_size());
    if (bytes == 0) return absl::OkStatus();
    return Caught([&] {
      gloo::AllreduceOptions options(context_);
      options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
      options.setReduceFunction(SumOf(values.dtype));
      // The size of elements decides where the ring cuts.
      switch (bytes / static_cast<size_t>(values.num_elements())) {
        case 2:
          options.setOutput(values.as<uint16_t>(), bytes / 2);
          break;
        case 4:
          options.setOutput(values.as<uint32_t>(), bytes / 4);
          break;
        default:
          options.setOutput(values.as<uint64_t>(), bytes / 8);
      }
      gloo::allreduce(options);
    });
  }

  absl::Status DoBroadcast(const TensorView& values, int root, Stream*) override {
    const auto bytes = static_cast<size_t>(values.byte_size());
    if (bytes == 0) return absl::OkStatus();
    return Caught([&] {
      gloo::BroadcastOptions options(context_);
      options.setOutput(values.as<char>(), bytes);
      options.setRoot(root);
      gloo::broadcast(options);
    });
  }

 private:
  template <typename Work>
  absl::Status Caught(const Work& work) {
    const Waiting waiting(waits_);
    const NoBrokenPipes no_broken_pipes;
    try {
      work();
      return absl::OkStatus();
    } catch (const std::exception& error) {
      const RollCall::Loss loss = roll_call_->WaitForLoss(kNews);
      if (loss.rank < 0)
        return absl::UnavailableError(absl::StrCat("lost another rank: ", error.what()));
      return ErrorOf(loss);
    }
  }

  absl::Status ErrorOf(const RollCall::Loss& loss) const {
    const std::string& name = roll_call_->name(loss.rank);
    return loss.died ? absl::UnavailableError(name + " died") : absl::AbortedError(name + " ended");
  }

  // While a call of Gloo's runs.
  struct Waiting {
    explicit Waiting(std::atomic<bool>& waits) : waits(waits) { waits = true; }
    ~Waiting() { waits = false; }
    std::atomic<bool>& waits;
  };

  void Guard() {
    using Clock = std::chrono::steady_clock;
    RollCall::Loss loss;
    while (loss.rank < 0 && !ending_)
      loss = roll_call_->WaitForLoss(std::chrono::milliseconds(100));
    for (auto since = Clock::now(); loss.died && !ending_;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      if (!waits_) {
        since = Clock::now();
      } else if (Clock::now() > since + kHang) {
        return on_hang_(loss.rank, WithActivity(ErrorOf(loss)));
      }
    }
  }

  const std::unique_ptr<RollCall> roll_call_;
  const std::function<void(int lost, const absl::Status& error)> on_hang_;
  std::atomic<bool> waits_ = false, ending_ = false;
  std::thread guard_;
  std::shared_ptr<gloo::transport::Device> device_;
  std::shared_ptr<gloo::Context> context_;
};

}  // namespace

bool HasGloo() { return true; }

absl::StatusOr<std::unique_ptr<Communicator>> JoinGloo(const RankOptions& options) {
  ONWARD_ASSIGN_OR_RETURN(std::unique_ptr<RollCall> roll_call, RollCall::Join(options));
  auto made = std::make_unique<Gloo>(options, std::move(roll_call));
  ONWARD_RETURN_IF_ERROR(made->Connect(options.patience));
  return made;
}

}  // namespace onward::collectives

#else

namespace onward::collectives {

bool HasGloo() { return false; }

absl::StatusOr<std::unique_ptr<Communicator>> JoinGloo(const RankOptions&) {
  return absl::UnimplementedError(
      "this build trains in one process: it has no Gloo (install libgloo-dev and build again)");
}

}  // namespace onward::collectives

#endif
