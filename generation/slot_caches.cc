#include "generation/slot_caches.h"

#include <algorithm>
#include <cstring>

#include "generation/decoder_tensors.h"
#include "onward/device_tensor.h"
#include "onward/status.h"

namespace onward::generation {
namespace {

// A capacity's step: then each row begins where a tensor may begin (kTensorAlignment).
constexpr int64_t kStep = 64;

}  // namespace

void CopyTokens(const Tensor& source, int64_t source_row, int64_t from, int64_t count, size_t axis,
                Tensor& target, int64_t row, int64_t at) {
  if (count == 0) return;
  const DimsView in = source.dims(), out = target.dims();
  const auto size = static_cast<int64_t>(in.size());
  const int64_t heads = NumElements(in, 1, static_cast<int64_t>(axis));
  const int64_t token =
      ByteSize(source.dtype(), NumElements(in, static_cast<int64_t>(axis) + 1, size));
  const int64_t in_head = in[axis] * token, out_head = out[axis] * token;
  const char* read = static_cast<const char*>(source.raw_data()) + source_row * heads * in_head;
  char* write = static_cast<char*>(target.raw_mutable_data()) + row * heads * out_head;
  for (int64_t head = 0; head < heads; ++head) {
    std::memmove(write + head * out_head + at * token, read + head * in_head + from * token,
                 static_cast<size_t>(count * token));
  }
}

int64_t SlotCaches::bytes_of_token() const {
  int64_t bytes = 0;
  for (const DecoderSignature::Cache& cache : caches_)
    bytes += EmptyCache(inputs_, cache, 1, 1).byte_size();
  return bytes;
}

absl::Status SlotCaches::Reserve(int64_t length, bool exact) {
  if (length <= capacity_ && !tensors_.empty()) return absl::OkStatus();
  // Columns that no row needs cost time where a mask hides them.
  const int64_t wanted = std::max(length, capacity_ + capacity_ / 4);
  int64_t capacity = exact ? length : (wanted + kStep - 1) / kStep * kStep;
  if (limit_ > 0) capacity = std::max(length, std::min(capacity, limit_));
  std::vector<Tensor> wide;
  for (size_t i = 0; i < caches_.size(); ++i) {
    Tensor empty = EmptyCache(inputs_, caches_[i], 0, capacity);
    Dims dims(empty.dims().begin(), empty.dims().end());
    dims[0] = rows_;
    ONWARD_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(empty.dtype(), dims));
    std::memset(tensor.raw_mutable_data(), 0, static_cast<size_t>(tensor.byte_size()));
    Tensor before;
    if (!tensors_.empty()) {
      ONWARD_ASSIGN_OR_RETURN(before, ToHost(tensors_[i]));
    }
    for (int64_t row = 0; row < rows_ && !before.empty(); ++row) {
      CopyTokens(before, row, 0, capacity_, static_cast<size_t>(caches_[i].length_axis), tensor,
                 row, 0);
    }
    ONWARD_ASSIGN_OR_RETURN(tensor, ToDevice(tensor, provider_));
    wide.push_back(std::move(tensor));
  }
  tensors_ = std::move(wide);
  capacity_ = capacity;
  return absl::OkStatus();
}

void SlotCaches::Clear() {
  tensors_.clear();
  capacity_ = 0;
}

Tensor SlotCaches::Rows(size_t cache, int64_t begin, int64_t end) const {
  const Tensor& all = tensors_[cache];
  Dims dims(all.dims().begin(), all.dims().end());
  dims[0] = end - begin;
  const int64_t row = all.byte_size() / rows_;
  char* data = static_cast<char*>(all.buffer() ? all.view().data : nullptr) + begin * row;
  return Tensor::Wrap(all.dtype(), dims, data, all.buffer(), all.device());
}

absl::Status SlotCaches::Write(size_t cache, const Tensor& source, int64_t source_row, int64_t from,
                               int64_t count, int64_t row, int64_t at) {
  ONWARD_ASSIGN_OR_RETURN(const Tensor read, ToHost(source));
  ONWARD_ASSIGN_OR_RETURN(Tensor written, ToHost(tensors_[cache]));
  CopyTokens(read, source_row, from, count, static_cast<size_t>(caches_[cache].length_axis),
             written, row, at);
  ONWARD_ASSIGN_OR_RETURN(tensors_[cache], ToDevice(written, provider_));
  return absl::OkStatus();
}

}  // namespace onward::generation
