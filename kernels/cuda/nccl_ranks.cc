#include "kernels/cuda/nccl_ranks.h"

#if __has_include(<nccl.h>)

#include <cuda_runtime.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/nccl_library.h"
#include "kernels/cuda/status.h"
#include "kernels/cuda/stream.h"
#include "onward/status.h"

namespace onward::kernels::cuda {
namespace {

using Clock = std::chrono::steady_clock;

// The time for which work may still wait for a rank that has ended: it may have left its part.
constexpr auto kLastWork = std::chrono::milliseconds(500);
// The time between two looks for ranks that are gone, and between two at the stream.
constexpr auto kLook = std::chrono::milliseconds(50);
constexpr auto kPause = std::chrono::microseconds(20);

std::optional<ncclDataType_t> TypeOf(DType dtype) {
  switch (dtype) {
    case DType::kInt8:
      return ncclInt8;
    case DType::kUint8:
      return ncclUint8;
    case DType::kInt32:
      return ncclInt32;
    case DType::kUint32:
      return ncclUint32;
    case DType::kInt64:
      return ncclInt64;
    case DType::kUint64:
      return ncclUint64;
    case DType::kFloat16:
      return ncclFloat16;
    case DType::kBFloat16:
      return ncclBfloat16;
    case DType::kFloat32:
      return ncclFloat32;
    case DType::kFloat64:
      return ncclFloat64;
    default:
      return std::nullopt;
  }
}

class NcclRanks : public Communicator {
 public:
  NcclRanks(std::shared_ptr<Communicator> host, Device device, const Nccl& nccl)
      : Communicator(host->rank(), host->size()),
        host_(std::move(host)),
        device_(device),
        nccl_(nccl) {}
  ~NcclRanks() override {
    if (!status().ok()) GiveUp();
    if (comm_ != nullptr) nccl_.CommDestroy(comm_);
  }

  absl::Status Connect() {
    ncclUniqueId id = {};
    if (rank() == 0) ONWARD_RETURN_IF_ERROR(nccl_.StatusOf(nccl_.GetUniqueId(&id)));
    const Dims dims = {sizeof(id)};
    ONWARD_RETURN_IF_ERROR(host_->Broadcast({DType::kUint8, Device(), &id, dims}, 0));
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;  // else nothing ends a call that waits for a rank that is gone
    ONWARD_RETURN_IF_ERROR(
        nccl_.StatusOf(nccl_.CommInitRankConfig(&comm_, size(), id, rank(), &config)));
    return Settle();
  }

  Device device() const override { return device_; }
  void set_activity(std::string activity) override { host_->set_activity(std::move(activity)); }
  int WaitForLostRank(std::chrono::milliseconds longest) override {
    return host_->WaitForLostRank(longest);
  }

 protected:
  absl::Status DoAllReduce(const TensorView& values, Stream* stream) override {
    if (values.device.is_host()) return host_->AllReduce(values);
    const std::optional<ncclDataType_t> type = TypeOf(values.dtype);
    if (!type) {
      return absl::UnimplementedError(
          absl::StrCat("NCCL sums no ", std::string(DTypeName(values.dtype))));
    }
    ONWARD_RETURN_IF_ERROR(nccl_.StatusOf(
        nccl_.AllReduce(values.data, values.data, static_cast<size_t>(values.num_elements()), *type,
                        ncclSum, comm_, HandleOf(stream))));
    return Settle();
  }

  absl::Status DoBroadcast(const TensorView& values, int root, Stream* stream) override {
    if (values.device.is_host()) return host_->Broadcast(values, root);
    ONWARD_RETURN_IF_ERROR(nccl_.StatusOf(
        nccl_.Broadcast(values.data, values.data, static_cast<size_t>(values.byte_size()),
                        ncclUint8, root, comm_, HandleOf(stream))));
    return Settle();
  }

  absl::Status DoWaitFor(Stream* stream) override {
    if (stream == nullptr) return absl::OkStatus();
    if (!status().ok()) GiveUp();
    if (comm_ == nullptr) return status();
    LostRank lost(*this);
    for (;;) {
      const cudaError_t state = cudaStreamQuery(HandleOf(stream));
      if (state != cudaErrorNotReady) {
        ONWARD_RETURN_IF_ERROR(ToStatus(state));
        return Settle();
      }
      ONWARD_RETURN_IF_ERROR(lost.Look());
      std::this_thread::sleep_for(kPause);
    }
  }

 private:
  // Looks now and then for a rank that is gone while this one waits.
  class LostRank {
   public:
    explicit LostRank(NcclRanks& ranks) : ranks_(ranks) {}

    // The error of the ranks, with nothing of theirs on any stream any more, once a rank has been
    // gone for long.
    absl::Status Look() {
      const Clock::time_point now = Clock::now();
      if (now < next_) return absl::OkStatus();
      next_ = now + kLook;
      if (ranks_.host_->WaitForLostRank(std::chrono::milliseconds(0)) < 0) return absl::OkStatus();
      if (!since_) since_ = now;
      if (now < *since_ + kLastWork) return absl::OkStatus();
      ranks_.GiveUp();
      const absl::Status status = ranks_.host_->Barrier();  // which the lost rank cannot pass
      return status.ok() ? absl::UnavailableError("another rank is gone") : status;
    }

   private:
    NcclRanks& ranks_;
    Clock::time_point next_ = Clock::now() + kLook;
    std::optional<Clock::time_point> since_;  // when it was seen
  };

  // Ends what waits for others on any stream.
  void GiveUp() {
    if (comm_ != nullptr) nccl_.CommAbort(std::exchange(comm_, nullptr));
  }

  // Waits for the end of a call, which continues in the background.
  absl::Status Settle() {
    LostRank lost(*this);
    for (;;) {
      ncclResult_t state = ncclSuccess;
      ONWARD_RETURN_IF_ERROR(nccl_.StatusOf(nccl_.CommGetAsyncError(comm_, &state)));
      if (state != ncclInProgress) return nccl_.StatusOf(state);
      ONWARD_RETURN_IF_ERROR(lost.Look());
      std::this_thread::sleep_for(kPause);
    }
  }

  const std::shared_ptr<Communicator> host_;
  const Device device_;
  const Nccl& nccl_;
  ncclComm_t comm_ = nullptr;  // null: not connected, or given up
};

// A number that two ranks have in common only where they share a GPU; exact in double.
absl::StatusOr<double> NumberOfGpu(Device device) {
  char place[64] = {}, name[256] = {};
  ONWARD_RETURN_IF_ERROR(ToStatus(cudaDeviceGetPCIBusId(place, sizeof(place) - 1, device.index)));
  gethostname(name, sizeof(name) - 1);
  const size_t hash = std::hash<std::string>()(absl::StrCat(name, " ", place));
  return static_cast<double>(hash >> 12);
}

absl::Status CheckGpus(Communicator& host, Device device) {
  ONWARD_ASSIGN_OR_RETURN(const double own, NumberOfGpu(device));
  ONWARD_ASSIGN_OR_RETURN(const std::vector<double> all, AllGather(host, own));
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (all[i] != all[j]) continue;
      return absl::UnimplementedError(
          absl::StrCat("ranks ", j, " and ", i, " share a GPU, and NCCL wants one for each"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<Communicator>> JoinNccl(std::shared_ptr<Communicator> host,
                                                       Device device) {
  const absl::StatusOr<const Nccl*> nccl = LoadNccl();
  ONWARD_ASSIGN_OR_RETURN(const std::vector<double> have, AllGather(*host, nccl.ok() ? 1 : 0));
  if (!nccl.ok()) return absl::UnimplementedError(std::string(nccl.status().message()));
  for (size_t i = 0; i < have.size(); ++i)
    if (have[i] == 0) return absl::UnimplementedError(absl::StrCat("rank ", i, " has no NCCL"));
  ONWARD_RETURN_IF_ERROR(CheckGpus(*host, device));
  // Ranks record work at different times; buffers that one registers while it records, the others
  // would have to register too.
  setenv("NCCL_GRAPH_REGISTER", "0", /*replace=*/0);
  auto joined = std::make_shared<NcclRanks>(std::move(host), device, **nccl);
  ONWARD_RETURN_IF_ERROR(joined->Connect());
  return joined;
}

}  // namespace onward::kernels::cuda

#else

namespace onward::kernels::cuda {

absl::StatusOr<std::shared_ptr<Communicator>> JoinNccl(std::shared_ptr<Communicator>, Device) {
  return absl::UnimplementedError("this build has no NCCL: nccl.h was not there");
}

}  // namespace onward::kernels::cuda

#endif
