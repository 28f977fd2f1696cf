// NCCL's calls that the provider makes, on emulated devices of several processes. Sums are taken in
// the order of the ranks, so that all get the same bits; work that waits for a rank stays in its
// stream, as on a real device, and an abort ends it.
#include <nccl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>

#include "onward/small_float.h"
#include "tests/emulated_cuda/nccl/rendezvous.h"
#include "tests/emulated_cuda/stream.h"

using namespace onward::emulated_cuda;  // NOLINT(google-build-using-namespace)

struct ncclComm {
  std::shared_ptr<Rendezvous> ranks;
  std::shared_ptr<std::atomic<bool>> aborted = std::make_shared<std::atomic<bool>>(false);
};

namespace {

template <typename T>
void Add(std::byte* sum, const std::byte* part, size_t bytes) {
  for (size_t i = 0; i < bytes; i += sizeof(T)) {
    T a, b;
    std::memcpy(&a, sum + i, sizeof(T));
    std::memcpy(&b, part + i, sizeof(T));
    a = static_cast<T>(a + b);
    std::memcpy(sum + i, &a, sizeof(T));
  }
}

using Adder = void (*)(std::byte*, const std::byte*, size_t);

struct Elements {
  size_t size;
  Adder add;
};

Elements ElementsOf(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
      return {1, Add<int8_t>};
    case ncclUint8:
      return {1, Add<uint8_t>};
    case ncclInt32:
      return {4, Add<int32_t>};
    case ncclUint32:
      return {4, Add<uint32_t>};
    case ncclInt64:
      return {8, Add<int64_t>};
    case ncclUint64:
      return {8, Add<uint64_t>};
    case ncclFloat16:
      return {2, Add<onward::Float16>};
    case ncclBfloat16:
      return {2, Add<onward::BFloat16>};
    case ncclFloat32:
      return {4, Add<float>};
    case ncclFloat64:
      return {8, Add<double>};
    default:
      return {0, nullptr};
  }
}

// Puts both stages of a piece on the stream.
template <typename Publish, typename Read>
cudaError_t Exchange(ncclComm_t comm, cudaStream_t stream, const char* name, Publish publish,
                     Read read) {
  const auto ranks = comm->ranks;
  const auto aborted = comm->aborted;
  const auto stage = [=](auto work) {
    return Work{name,
                [=] {
                  if (*aborted) return;
                  work(*ranks);
                  ranks->EndStage();
                },
                [=] { return *aborted || ranks->MayBeginStage(); }};
  };
  const cudaError_t error = EnqueueWork(stream, stage(publish));
  return error != cudaSuccess ? error : EnqueueWork(stream, stage(read));
}

ncclResult_t ResultOf(cudaError_t error) {
  return error == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

}  // namespace

extern "C" {

const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclSuccess           ? "no error"
         : result == ncclInvalidUsage    ? "invalid usage (a rank's GPU, or a stream of another)"
         : result == ncclInvalidArgument ? "invalid argument"
                                         : "unhandled cuda error (an emulated one)";
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static std::atomic<int> made = 0;
  std::memset(id, 0, sizeof(*id));
  const std::string name =
      "/onward_emulated_nccl_" + std::to_string(getpid()) + "_" + std::to_string(++made);
  std::memcpy(id->internal, name.c_str(), name.size());
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int size, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  if (config == nullptr || config->blocking != 0) return ncclInvalidArgument;
  Rendezvous* const ranks = Rendezvous::Join(id.internal, rank, size);
  if (ranks == nullptr) return ncclSystemError;
  *comm = new ncclComm;
  (*comm)->ranks = std::shared_ptr<Rendezvous>(ranks, [](Rendezvous* p) { p->Leave(); });
  return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
  *state = comm->ranks->AllHaveJoined() ? ncclSuccess : ncclInProgress;
  return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream) {
  const Entry entry("ncclAllReduce");
  if (entry.error() != cudaSuccess) return ncclUnhandledCudaError;
  const Elements elements = ElementsOf(type);
  const size_t bytes = count * elements.size;
  if (elements.size == 0 || operation != ncclSum || !comm->ranks->AllHaveJoined() ||
      (bytes > 0 && (!IsAllocated(from, bytes) || !IsAllocated(to, bytes))))
    return ncclInvalidArgument;
  for (size_t at = 0; at < bytes; at += Rendezvous::kPiece) {
    const auto* own = static_cast<const std::byte*>(from) + at;
    auto* sum = static_cast<std::byte*>(to) + at;
    const size_t piece = std::min(bytes - at, Rendezvous::kPiece);
    const cudaError_t error = Exchange(
        comm, stream, "ncclAllReduce",
        [=](Rendezvous& ranks) { std::memcpy(ranks.part(ranks.rank()), own, piece); },
        [=](Rendezvous& ranks) {
          std::memcpy(sum, ranks.part(0), piece);
          for (int rank = 1; rank < ranks.size(); ++rank)
            elements.add(sum, ranks.part(rank), piece);
        });
    if (error != cudaSuccess) return ResultOf(error);
  }
  return ncclSuccess;
}

ncclResult_t ncclBroadcast(const void* from, void* to, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  const Entry entry("ncclBroadcast");
  if (entry.error() != cudaSuccess) return ncclUnhandledCudaError;
  const size_t bytes = count * ElementsOf(type).size;
  if (!comm->ranks->AllHaveJoined() || (bytes > 0 && !IsAllocated(to, bytes)))
    return ncclInvalidArgument;
  for (size_t at = 0; at < bytes; at += Rendezvous::kPiece) {
    const auto* own = static_cast<const std::byte*>(from) + at;
    auto* result = static_cast<std::byte*>(to) + at;
    const size_t piece = std::min(bytes - at, Rendezvous::kPiece);
    const cudaError_t error = Exchange(
        comm, stream, "ncclBroadcast",
        [=](Rendezvous& ranks) {
          if (ranks.rank() == root) std::memcpy(ranks.part(root), own, piece);
        },
        [=](Rendezvous& ranks) { std::memcpy(result, ranks.part(root), piece); });
    if (error != cudaSuccess) return ResultOf(error);
  }
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  *comm->aborted = true;
  delete comm;  // its work keeps what it needs
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  delete comm;
  return ncclSuccess;
}

}  // extern "C"
