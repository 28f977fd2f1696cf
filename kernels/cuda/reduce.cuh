// Reductions over loops of a tensor: in float (double for doubles, 64 bits for integers), as a tree
// that the shape alone decides.
#pragma once

#include <algorithm>
#include <limits>

#include "kernels/bind/reduce.h"
#include "kernels/cuda/broadcast.cuh"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/rows.cuh"

namespace onward::kernels::cuda {

template <typename T>
using Total = std::conditional_t<std::is_integral_v<T>, int64_t, ComputeType<T>>;

namespace reductions {

// A reduction: what becomes of an element, how two are combined, what none gives, and what the
// total of `count` elements becomes.
struct Sum {
  using Combine = functors::Add;
  template <typename T>
  __device__ static Total<T> None() {
    return Total<T>(0);
  }
  template <typename A>
  __device__ static A Map(A x) {
    return x;
  }
  template <typename A>
  __device__ static A Finish(A total, int64_t) {
    return total;
  }
};

struct Mean : Sum {
  template <typename A>
  __device__ static A Finish(A total, int64_t count) {
    if constexpr (std::is_integral_v<A>) return count == 0 ? A(0) : total / count;
    return total / static_cast<A>(count);
  }
};

struct Maximum : Sum {
  using Combine = functors::Max;
  // The limit is that of the elements' type: totals of 32 bits are kept in 64.
  template <typename T>
  __device__ static Total<T> None() {
    using Limits = std::numeric_limits<ComputeType<T>>;
    return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  }
};

}  // namespace reductions

// Outputs whose elements are many are cut into parts of `length` elements where the outputs alone
// would leave most of a large device idle. The plan alone decides, so sums have one order.
struct ReduceParts {
  int64_t count = 1, length = 0;
};

inline bool AreColumns(const ReducePlan& plan) {
  return plan.kept_rank > 0 && plan.kept_strides[0] == 1 && plan.reduced_count > 0;
}

inline int64_t ColumnTiles(const ReducePlan& plan) {
  return (plan.kept_count + kColumns - 1) / kColumns;
}

inline ReduceParts ReducePartsOf(const ReducePlan& plan) {
  constexpr int64_t kBlocksWanted = 1024, kElementsOfThread = 16;
  const bool columns = AreColumns(plan);
  const int64_t blocks = std::max<int64_t>(1, columns ? ColumnTiles(plan) : plan.kept_count);
  const int64_t least = kElementsOfThread * (columns ? kStripes : kThreads);
  const int64_t count = std::min(kBlocksWanted / blocks, plan.reduced_count / least);
  if (count < 2) return {1, plan.reduced_count};
  const int64_t length = (plan.reduced_count + count - 1) / count;
  return {(plan.reduced_count + length - 1) / length, length};
}

// Where in a loop nest's memory iteration `index` is.
__device__ inline int64_t OffsetOf(int rank, const int64_t* dims, const int64_t* strides,
                                   int64_t index) {
  int64_t offset = 0;
#pragma unroll 1
  for (int d = 0; d < rank; ++d) {
    const int64_t rest = d + 1 < rank ? Quotient(index, dims[d]) : 0;
    offset += (index - rest * dims[d]) * strides[d];
    index = rest;
  }
  return offset;
}

template <typename R, typename T>
__device__ Total<T> Mapped(T element) {
  return R::Map(static_cast<Total<T>>(Load(element)));
}

// Combines elements begin, begin + step, ... below `end` of one output.
template <typename R, typename T>
__device__ Total<T> TotalOf(const T* from, const ReducePlan& plan, int64_t begin, int64_t end,
                            int64_t step) {
  Total<T> total = R::template None<T>();
  if (plan.reduced_rank == 1) {
    const int64_t stride = plan.reduced_strides[0];
#pragma unroll 8
    for (int64_t i = begin; i < end; i += step)
      total = typename R::Combine()(total, Mapped<R>(from[i * stride]));
    return total;
  }
  for (int64_t i = begin; i < end; i += step) {
    const int64_t at = OffsetOf(plan.reduced_rank, plan.reduced_dims, plan.reduced_strides, i);
    total = typename R::Combine()(total, Mapped<R>(from[at]));
  }
  return total;
}

// Writes a part's total: it is the output, or one of the totals that CombineParts reads.
template <typename R, typename T>
__device__ void StoreTotal(T* y, Total<T>* totals, int64_t at, Total<T> total,
                           const ReducePlan& plan) {
  if (totals != nullptr) {
    totals[at] = total;
  } else {
    y[at] = Rounded<T>(R::Finish(total, plan.reduced_count));
  }
}

// A part of an output is the work of a warp or a block, whose threads read neighbours. Totals of
// one output lie side by side.
template <typename R, typename T, bool kWide>
__global__ void ReduceRows(const T* x, T* y, Total<T>* totals, ReducePlan plan, ReduceParts parts) {
  using Threads = RowThreads<kWide>;
  for (int64_t i = Threads::first(); i < plan.kept_count * parts.count; i += Threads::step()) {
    const int64_t row = Quotient(i, parts.count), begin = (i - row * parts.count) * parts.length;
    const T* from = x + OffsetOf(plan.kept_rank, plan.kept_dims, plan.kept_strides, row);
    const Total<T> total = Threads::template Combine<typename R::Combine>(
        TotalOf<R>(from, plan, begin + Threads::index(),
                   std::min(begin + parts.length, plan.reduced_count), Threads::count()));
    if (Threads::index() == 0) StoreTotal<R>(y, totals, i, total, plan);
  }
}

// A block takes neighbouring outputs, whose elements are neighbours. Totals of one part lie side by
// side.
template <typename R, typename T>
__global__ void ReduceColumns(const T* x, T* y, Total<T>* totals, ReducePlan plan,
                              ReduceParts parts) {
  const int64_t tiles = (plan.kept_count + kColumns - 1) / kColumns;
  for (int64_t i = blockIdx.x; i < tiles * parts.count; i += gridDim.x) {
    const int64_t part = Quotient(i, tiles), begin = part * parts.length;
    const int64_t column = (i - part * tiles) * kColumns + threadIdx.x;
    const bool is_column = column < plan.kept_count;
    const int64_t end = is_column ? std::min(begin + parts.length, plan.reduced_count) : 0;
    const T* from = x + OffsetOf(plan.kept_rank, plan.kept_dims, plan.kept_strides, column);
    const Total<T> total = CombineColumn<typename R::Combine>(
        TotalOf<R>(from, plan, begin + threadIdx.y, end, kStripes));
    if (threadIdx.y == 0 && is_column)
      StoreTotal<R>(y, totals, part * plan.kept_count + column, total, plan);
  }
}

// A warp combines the totals of an output: they begin `of_output` apart and lie `of_part` apart.
template <typename R, typename T>
__global__ void CombineParts(const Total<T>* totals, T* y, ReducePlan plan, int64_t parts,
                             int64_t of_output, int64_t of_part) {
  using Threads = RowThreads<false>;
  for (int64_t row = Threads::first(); row < plan.kept_count; row += Threads::step()) {
    Total<T> total = R::template None<T>();
    for (int64_t part = Threads::index(); part < parts; part += Threads::count())
      total = typename R::Combine()(total, totals[row * of_output + part * of_part]);
    total = Threads::template Combine<typename R::Combine>(total);
    if (Threads::index() == 0) y[row] = Rounded<T>(R::Finish(total, plan.reduced_count));
  }
}

// The plan of the binding. Rows of nothing begin nowhere: an offset from no memory is undefined.
inline ReducePlan ReducePlanOf(const RunContext& context) {
  ReducePlan plan = context.state<ReducePlan>();
  if (plan.reduced_count == 0) plan.kept_rank = 0;
  return plan;
}

// Bytes that the totals of a cut reduction take; 0 for one that is not cut.
inline int64_t ReduceScratch(const ReducePlan& plan) {
  const ReduceParts parts = ReducePartsOf(plan);
  return parts.count > 1 ? plan.kept_count * parts.count * static_cast<int64_t>(sizeof(double)) : 0;
}

// `totals`: of ReduceScratch bytes.
using LaunchReducePlan = absl::Status (*)(const void* x, void* y, void* totals,
                                          const ReducePlan& plan, cudaStream_t stream);

template <typename R, typename T>
absl::Status LaunchReduce(const void* x_data, void* y_data, void* totals_data,
                          const ReducePlan& plan, cudaStream_t stream) {
  const T* x = static_cast<const T*>(x_data);
  T* y = static_cast<T*>(y_data);
  const ReduceParts parts = ReducePartsOf(plan);
  auto* totals = parts.count > 1 ? static_cast<Total<T>*>(totals_data) : nullptr;
  if (AreColumns(plan)) {
    const int64_t blocks = ColumnTiles(plan) * parts.count;
    ONWARD_RETURN_IF_ERROR(Launch(ReduceColumns<R, T>, Blocks(blocks * kThreads),
                                  dim3(kColumns, kStripes), 0, stream, x, y, totals, plan, parts));
  } else {
    const bool wide = parts.count > 1 || AreWide(plan.kept_count, plan.reduced_count);
    ONWARD_RETURN_IF_ERROR(Launch(wide ? ReduceRows<R, T, true> : ReduceRows<R, T, false>,
                                  RowBlocks(plan.kept_count * parts.count, wide), kThreads, 0,
                                  stream, x, y, totals, plan, parts));
  }
  if (totals == nullptr) return absl::OkStatus();
  const bool columns = AreColumns(plan);
  return Launch(CombineParts<R, T>, RowBlocks(plan.kept_count, false), kThreads, 0, stream, totals,
                y, plan, parts.count, columns ? 1 : parts.count, columns ? plan.kept_count : 1);
}

}  // namespace onward::kernels::cuda
