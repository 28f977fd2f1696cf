#include "kernels/cpu/simd/pool_rows.h"

#include <algorithm>

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kMostLanes = 16;
constexpr int64_t kBlockFloats = 4096;  // a third of a first-level cache

}  // namespace

int64_t PlanPoolRows(PoolRows& rows) {
  const PoolAxis& columns = rows.axes[rows.num_axes - 1];
  rows.bases = 1;
  for (int i = 0; i + 2 < rows.num_axes; ++i) rows.bases *= rows.axes[i].kernel;
  const int64_t reach =
      (columns.output - 1) * columns.stride + (columns.kernel - 1) * columns.dilation + 1;
  const int64_t used = std::max(reach, columns.pad + columns.input);
  // Every phase of the stride is read for whole vectors of outputs.
  rows.phase_length = (used + columns.stride - 1) / columns.stride + kMostLanes;
  const int64_t length = rows.phase_length * columns.stride;
  rows.block_rows = std::clamp<int64_t>(kBlockFloats / length, 1, kMostBlockRows);
  const int64_t lists = 2 * (rows.bases + columns.kernel);
  const int64_t lengths = columns.stride == 1 ? 1 : 2;
  return (lists + rows.block_rows * lengths * length + kMostLanes) / kMostLanes * kMostLanes;
}

}  // namespace onward::kernels::cpu
