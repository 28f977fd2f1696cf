#include "kernels/cuda/copy_rows.h"
#include "kernels/cuda/index_math.cuh"
#include "kernels/cuda/launch.cuh"

namespace onward::kernels::cuda {
namespace {

// Rows of `columns` units; pitches from the beginning of a row to the next one, in units.
template <typename U, typename Index, typename By>
__global__ void RowsLoop(const U* from, U* to, Index count, By columns, int64_t from_pitch,
                         int64_t to_pitch) {
  for (int64_t i = GlobalIndex(); i < count; i += GlobalSize()) {
    const Index at = static_cast<Index>(i), row = columns.Quotient(at);
    const int64_t column = at - row * columns.divisor;
    to[row * to_pitch + column] = from[row * from_pitch + column];
  }
}

template <typename U>
absl::Status CopyUnits(const Rows& rows, cudaStream_t stream) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(U));
  const int64_t columns = rows.columns / kSize, count = rows.rows * columns;
  const auto launch = [&](auto* loop, auto by, auto units) {
    return Launch(loop, Blocks(count), kThreads, 0, stream, reinterpret_cast<const U*>(rows.from),
                  reinterpret_cast<U*>(rows.to), units, by, rows.from_pitch / kSize,
                  rows.to_pitch / kSize);
  };
  if (count <= INT32_MAX) {
    return launch(&RowsLoop<U, uint32_t, Divisor>, Divisor(static_cast<uint32_t>(columns)),
                  static_cast<uint32_t>(count));
  }
  return launch(&RowsLoop<U, int64_t, WideDivisor>, WideDivisor(columns), count);
}

}  // namespace

absl::Status CopyRows(const Rows& rows, cudaStream_t stream) {
  if (rows.rows == 0 || rows.columns == 0) return absl::OkStatus();
  const auto bits = static_cast<uint64_t>(rows.columns | rows.from_pitch | rows.to_pitch) |
                    reinterpret_cast<uintptr_t>(rows.from) | reinterpret_cast<uintptr_t>(rows.to);
  if (bits % 16 == 0) return CopyUnits<uint4>(rows, stream);
  if (bits % 8 == 0) return CopyUnits<uint2>(rows, stream);
  if (bits % 4 == 0) return CopyUnits<uint32_t>(rows, stream);
  if (bits % 2 == 0) return CopyUnits<uint16_t>(rows, stream);
  return CopyUnits<uint8_t>(rows, stream);
}

}  // namespace onward::kernels::cuda
