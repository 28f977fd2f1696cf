#include "onward/communicator.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "collectives/sum.h"
#include "onward/status.h"

namespace onward {
namespace {

// FNV-1a.
uint64_t HashOf(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : text)
    hash = (hash ^ static_cast<unsigned char>(byte)) * uint64_t{0x100000001b3};
  return hash;
}

// Every rank's part of `numbers`, which has the same number of elements of each; the others' are 0
// before.
absl::Status AddUp(Communicator& communicator, std::vector<double>& numbers) {
  const Dims dims = {static_cast<int64_t>(numbers.size())};
  return communicator.AllReduce({DType::kFloat64, Device(), numbers.data(), dims});
}

}  // namespace

absl::Status Communicator::WithActivity(const absl::Status& status) const {
  if (activity_.empty()) return status;
  return absl::Status(status.code(),
                      absl::StrCat(std::string(status.message()), " in ", activity_));
}

absl::Status Communicator::Keep(const absl::Status& status) {
  if (status.ok()) return status;
  status_ = WithActivity(status);
  return status_;
}

absl::Status Communicator::AllReduce(const TensorView& values, Stream* stream) {
  if (!status_.ok()) return status_;
  if (collectives::SumOf(values.dtype) == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("tensors of ", std::string(DTypeName(values.dtype)), " cannot be summed"));
  }
  return Keep(DoAllReduce(values, stream));
}

absl::Status Communicator::Broadcast(const TensorView& values, int root, Stream* stream) {
  if (!status_.ok()) return status_;
  if (values.dtype == DType::kString)
    return absl::InvalidArgumentError("tensors of strings cannot be sent to other ranks");
  return Keep(DoBroadcast(values, root, stream));
}

absl::Status Communicator::WaitFor(Stream* stream) {
  const absl::Status status = DoWaitFor(stream);  // also after an error: work may wait for the rank
  return status_.ok() ? Keep(status) : status_;
}

absl::Status Communicator::Barrier() { return AllGather(*this, 0).status(); }

absl::StatusOr<std::vector<double>> AllGather(Communicator& communicator, double value) {
  std::vector<double> numbers(static_cast<size_t>(communicator.size()), 0.0);
  numbers[static_cast<size_t>(communicator.rank())] = value;
  ONWARD_RETURN_IF_ERROR(AddUp(communicator, numbers));
  return numbers;
}

absl::Status Agree(Communicator& communicator, std::string_view what, std::string_view value) {
  // Halves of a hash are exact in double.
  const uint64_t hash = HashOf(value);
  std::vector<double> halves(2 * static_cast<size_t>(communicator.size()), 0.0);
  const auto own = static_cast<size_t>(2 * communicator.rank());
  halves[own] = static_cast<double>(hash >> 32);
  halves[own + 1] = static_cast<double>(hash & 0xffffffff);
  ONWARD_RETURN_IF_ERROR(AddUp(communicator, halves));
  for (size_t i = 2; i < halves.size(); i += 2) {
    if (halves[i] == halves[0] && halves[i + 1] == halves[1]) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(std::string(what), " of rank ", i / 2, " differs from that of rank 0"));
  }
  return absl::OkStatus();
}

}  // namespace onward
