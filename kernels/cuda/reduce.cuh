// Reductions over loops of a tensor: in float (double for doubles, 64 bits for integers), as a tree
// that the shape alone decides.
#pragma once

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

// An output is the work of a warp or a block, whose threads read neighbours.
template <typename R, typename T, bool kWide>
__global__ void ReduceRows(const T* x, T* y, ReducePlan plan) {
  using A = Total<T>;
  using Threads = RowThreads<kWide>;
  for (int64_t row = Threads::first(); row < plan.kept_count; row += Threads::step()) {
    const T* from = x + OffsetOf(plan.kept_rank, plan.kept_dims, plan.kept_strides, row);
    A total = R::template None<T>();
    for (int64_t i = Threads::index(); i < plan.reduced_count; i += Threads::count()) {
      const int64_t at = OffsetOf(plan.reduced_rank, plan.reduced_dims, plan.reduced_strides, i);
      total = typename R::Combine()(total, Mapped<R>(from[at]));
    }
    total = Threads::template Combine<typename R::Combine>(total);
    if (Threads::index() == 0) y[row] = Rounded<T>(R::Finish(total, plan.reduced_count));
  }
}

// A block takes neighbouring outputs, whose elements are neighbours.
template <typename R, typename T>
__global__ void ReduceColumns(const T* x, T* y, ReducePlan plan) {
  using A = Total<T>;
  const int64_t tiles = (plan.kept_count + kColumns - 1) / kColumns;
  for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const int64_t column = tile * kColumns + threadIdx.x;
    const int64_t count = column < plan.kept_count ? plan.reduced_count : 0;
    const T* from = x + OffsetOf(plan.kept_rank, plan.kept_dims, plan.kept_strides, column);
    A total = R::template None<T>();
    for (int64_t i = threadIdx.y; i < count; i += kStripes) {
      const int64_t at = OffsetOf(plan.reduced_rank, plan.reduced_dims, plan.reduced_strides, i);
      total = typename R::Combine()(total, Mapped<R>(from[at]));
    }
    total = CombineColumn<typename R::Combine>(total);
    if (threadIdx.y == 0 && column < plan.kept_count)
      y[column] = Rounded<T>(R::Finish(total, plan.reduced_count));
  }
}

// The plan of the binding. Rows of nothing begin nowhere: an offset from no memory is undefined.
inline ReducePlan ReducePlanOf(const RunContext& context) {
  ReducePlan plan = context.state<ReducePlan>();
  if (plan.reduced_count == 0) plan.kept_rank = 0;
  return plan;
}

using LaunchReducePlan = absl::Status (*)(const void* x, void* y, const ReducePlan& plan,
                                          cudaStream_t stream);

template <typename R, typename T>
absl::Status LaunchReduce(const void* x_data, void* y_data, const ReducePlan& plan,
                          cudaStream_t stream) {
  const T* x = static_cast<const T*>(x_data);
  T* y = static_cast<T*>(y_data);
  const bool columns = plan.kept_rank > 0 && plan.kept_strides[0] == 1 && plan.reduced_count > 0;
  if (columns) {
    const int64_t tiles = (plan.kept_count + kColumns - 1) / kColumns;
    return Launch(ReduceColumns<R, T>, Blocks(tiles * kThreads), dim3(kColumns, kStripes), 0,
                  stream, x, y, plan);
  }
  const bool wide = AreWide(plan.kept_count, plan.reduced_count);
  return Launch(wide ? ReduceRows<R, T, true> : ReduceRows<R, T, false>,
                RowBlocks(plan.kept_count, wide), kThreads, 0, stream, x, y, plan);
}

}  // namespace onward::kernels::cuda
