#include <algorithm>

#include "absl/types/span.h"
#include "kernels/cuda/chunks.cuh"
#include "kernels/cuda/copy_rows.h"
#include "kernels/cuda/index_math.cuh"
#include "kernels/cuda/launch.cuh"
#include "onward/status.h"

namespace onward::kernels::cuda {
namespace {

constexpr int kMostAtOnce = 32;  // copies of a launch

// Rows of `columns` units; pitches from the beginning of a row to the next one, in units.
template <typename U, typename Index, typename By>
struct UnitRows {
  const U* from = nullptr;
  U* to = nullptr;
  Index count = 0;  // units of all rows
  By columns;
  int64_t from_pitch = 0, to_pitch = 0;
};

template <typename U, typename Index, typename By>
struct UnitCopies {
  UnitRows<U, Index, By> of[kMostAtOnce];
};

template <typename U, typename Index, typename By>
__global__ void RowsLoop(UnitCopies<U, Index, By> copies) {
  const UnitRows<U, Index, By>& rows = copies.of[blockIdx.y];
  for (int64_t i = GlobalIndex(); i < rows.count; i += GlobalSize()) {
    const Index at = static_cast<Index>(i), row = rows.columns.Quotient(at);
    const int64_t column = at - row * rows.columns.divisor;
    rows.to[row * rows.to_pitch + column] = rows.from[row * rows.from_pitch + column];
  }
}

template <typename U, typename Index, typename By>
absl::Status LaunchCopies(absl::Span<const Rows> copies, cudaStream_t stream) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(U));
  UnitCopies<U, Index, By> units;
  int64_t most = 0;
  for (size_t i = 0; i < copies.size(); ++i) {
    const Rows& rows = copies[i];
    const int64_t columns = rows.columns / kSize, count = rows.rows * columns;
    units.of[i] = {reinterpret_cast<const U*>(rows.from),
                   reinterpret_cast<U*>(rows.to),
                   static_cast<Index>(count),
                   By(static_cast<Index>(columns)),
                   rows.from_pitch / kSize,
                   rows.to_pitch / kSize};
    most = std::max(most, count);
  }
  const dim3 grid(Blocks(most), static_cast<unsigned>(copies.size()));
  return Launch(RowsLoop<U, Index, By>, grid, kThreads, 0, stream, units);
}

}  // namespace

absl::Status RowCopies::Add(const Rows& rows) {
  static_assert(kMost == kMostAtOnce);
  if (rows.rows == 0 || rows.columns == 0) return absl::OkStatus();
  if (count_ == kMost) ONWARD_RETURN_IF_ERROR(Finish());
  copies_[count_++] = rows;
  return absl::OkStatus();
}

absl::Status RowCopies::Finish() {
  const absl::Span<const Rows> copies(copies_, static_cast<size_t>(count_));
  count_ = 0;
  if (copies.empty()) return absl::OkStatus();
  uint64_t bits = 0;
  int64_t most = 0;  // bytes
  for (const Rows& rows : copies) {
    bits |= static_cast<uint64_t>(rows.columns | rows.from_pitch | rows.to_pitch) |
            AlignmentOf(rows.from) | AlignmentOf(rows.to);
    most = std::max(most, rows.rows * rows.columns);
  }
  return DispatchChunk(bits, [&](auto unit) {
    using U = decltype(unit);
    return most <= INT32_MAX ? LaunchCopies<U, uint32_t, Divisor>(copies, stream_)
                             : LaunchCopies<U, int64_t, WideDivisor>(copies, stream_);
  });
}

}  // namespace onward::kernels::cuda
