#include "serving/scheduling/batch.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "onward/status.h"

namespace onward::serving {
namespace {

// Copies all elements of `from` to those of `to` from `begin` on.
void CopyTo(const Tensor& from, Tensor& to, int64_t begin) {
  if (from.num_elements() == 0) return;
  if (from.dtype() == DType::kString) {
    std::copy_n(from.data<std::string>(), from.num_elements(),
                to.mutable_data<std::string>() + begin);
    return;
  }
  const int64_t at = ByteSize(from.dtype(), begin);
  std::memcpy(static_cast<char*>(to.raw_mutable_data()) + at, from.raw_data(),
              static_cast<size_t>(from.byte_size()));
}

}  // namespace

int64_t RowsOf(const Session::Inputs& inputs) {
  int64_t rows = 0;
  for (const auto& [name, value] : inputs) {
    if (!value.is_tensor() || value.tensor().rank() == 0) return 0;
    const int64_t own = value.tensor().dims()[0];
    if (rows != 0 && own != rows) return 0;
    rows = own;
  }
  return rows;
}

bool CanJoin(const Session::Inputs& a, const Session::Inputs& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& one, const auto& other) {
    const Tensor &x = one.second.tensor(), &y = other.second.tensor();
    return one.first == other.first && x.dtype() == y.dtype() && x.rank() == y.rank() &&
           std::equal(x.dims().begin() + 1, x.dims().end(), y.dims().begin() + 1);
  });
}

absl::StatusOr<Session::Inputs> Join(absl::Span<const Session::Inputs* const> parts) {
  int64_t rows = 0;
  for (const Session::Inputs* part : parts) rows += RowsOf(*part);
  Session::Inputs joined;
  for (const auto& [name, value] : *parts[0]) {
    Dims dims(value.tensor().dims().begin(), value.tensor().dims().end());
    dims[0] = rows;
    ONWARD_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(value.tensor().dtype(), dims));
    int64_t begin = 0;
    for (const Session::Inputs* part : parts) {
      const Tensor& own = part->at(name).tensor();
      CopyTo(own, tensor, begin);
      begin += own.num_elements();
    }
    joined[name] = Value(std::move(tensor));
  }
  return joined;
}

Session::Outputs RowsFrom(const Session::Outputs& joined, int64_t first, int64_t rows) {
  Session::Outputs part;
  for (const auto& [name, value] : joined) {
    const Tensor& all = value.tensor();
    Dims dims(all.dims().begin(), all.dims().end());
    const int64_t row = all.num_elements() / dims[0];
    dims[0] = rows;
    // Strings stand in memory as objects.
    const int64_t at = all.dtype() == DType::kString
                           ? first * row * static_cast<int64_t>(sizeof(std::string))
                           : ByteSize(all.dtype(), first * row);
    char* data = const_cast<char*>(static_cast<const char*>(all.raw_data())) + at;
    part[name] = Value(Tensor::Wrap(all.dtype(), dims, data, all.buffer()));
  }
  return part;
}

}  // namespace onward::serving
