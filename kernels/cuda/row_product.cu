#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/packs.cuh"
#include "kernels/cuda/row_product.h"
#include "kernels/cuda/rows.cuh"

namespace onward::kernels::cuda {
namespace {

// y = alpha * x W + residual + bias, the negative ones 0 with relu.
template <typename T>
struct RowOperands {
  const T *x, *w, *bias, *residual;  // the last two may be null
  T* y;
  int64_t n, k;
  ComputeType<T> alpha;
  bool relu;
};

template <typename T>
__device__ void StoreColumn(const RowOperands<T>& o, int64_t column, ComputeType<T> sum) {
  using C = ComputeType<T>;
  C value = o.alpha * sum;
  if (o.residual != nullptr) value += Load(o.residual[column]);
  if (o.bias != nullptr) value += Load(o.bias[column]);
  o.y[column] = Rounded<T>(o.relu && value < C(0) ? C(0) : value);
}

// W is k x n. A block has kLanes packs of neighbouring columns; its other threads go down the rows.
template <typename T, int kPack, int kLanes>
__global__ void ProductOfColumns(RowOperands<T> o) {
  using C = ComputeType<T>;
  constexpr int kTile = kLanes * kPack, kAtOnce = kThreads / kLanes, kWarps = kThreads / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const int64_t first = blockIdx.x * static_cast<int64_t>(kTile), column = first + lane * kPack;
  C sums[kPack] = {};
  if (column < o.n) {
#pragma unroll 8
    for (int64_t row = threadIdx.x / kLanes; row < o.k; row += kAtOnce) {
      const Pack<T, kPack> w = LoadPack<kPack>(o.w + row * o.n + column);
      const C x = Load(o.x[row]);
#pragma unroll
      for (int i = 0; i < kPack; ++i) sums[i] += x * static_cast<C>(Load(w.elements[i]));
    }
  }
  __shared__ C of_warps[kWarps][kTile];
#pragma unroll
  for (int i = 0; i < kPack; ++i) {
    for (int lanes = kWarp / 2; lanes >= kLanes; lanes /= 2)
      sums[i] += __shfl_xor_sync(~0u, sums[i], lanes);
    if (static_cast<int>(threadIdx.x) % kWarp < kLanes)
      of_warps[threadIdx.x / kWarp][lane * kPack + i] = sums[i];
  }
  __syncthreads();
  const int64_t mine = first + threadIdx.x;
  if (threadIdx.x >= kTile || mine >= o.n) return;
  C sum = of_warps[0][threadIdx.x];
  for (int warp = 1; warp < kWarps; ++warp) sum += of_warps[warp][threadIdx.x];
  StoreColumn(o, mine, sum);
}

// W is n x k: a warp has a row of it.
template <typename T, int kPack>
__global__ void ProductOfRows(RowOperands<T> o) {
  using C = ComputeType<T>;
  using Threads = RowThreads<false>;
  for (int64_t column = Threads::first(); column < o.n; column += Threads::step()) {
    const T* w = o.w + column * o.k;
    C sum = 0;
#pragma unroll 4
    for (int64_t p = Threads::index(); p < o.k / kPack; p += Threads::count()) {
      const Pack<T, kPack> a = LoadPack<kPack>(w + p * kPack), b = LoadPack<kPack>(o.x + p * kPack);
#pragma unroll
      for (int i = 0; i < kPack; ++i)
        sum += static_cast<C>(Load(a.elements[i])) * static_cast<C>(Load(b.elements[i]));
    }
    sum = Threads::template Combine<functors::Add>(sum);
    if (Threads::index() == 0) StoreColumn(o, column, sum);
  }
}

template <typename T, int kPack, int kLanes>
absl::Status LaunchColumns(const RowOperands<T>& o, cudaStream_t stream) {
  constexpr int64_t kTile = kLanes * kPack;
  return Launch(ProductOfColumns<T, kPack, kLanes>,
                static_cast<unsigned>((o.n + kTile - 1) / kTile), kThreads, 0, stream, o);
}

template <typename T, int kPack>
absl::Status LaunchPacks(const RowOperands<T>& o, bool trans_b, cudaStream_t stream) {
  if (trans_b)
    return Launch(ProductOfRows<T, kPack>, RowBlocks(o.n, false), kThreads, 0, stream, o);
  // Narrow tiles where there are few columns: every multiprocessor has a part.
  constexpr int64_t kBlocksWanted = 132;
  return o.n / (4 * kPack) < kBlocksWanted ? LaunchColumns<T, kPack, 2>(o, stream)
                                           : LaunchColumns<T, kPack, 4>(o, stream);
}

template <typename T>
absl::Status LaunchRow(const Product& p, double alpha, const ProductOperands& operands,
                       cudaStream_t stream) {
  const RowOperands<T> o = {static_cast<const T*>(operands.a),
                            static_cast<const T*>(operands.b),
                            p.has_bias ? static_cast<const T*>(operands.bias) : nullptr,
                            p.has_residual ? static_cast<const T*>(operands.residual) : nullptr,
                            static_cast<T*>(operands.d),
                            p.n,
                            p.k,
                            static_cast<ComputeType<T>>(alpha),
                            p.relu};
  constexpr int kPack = kPackOf<T>;
  const bool in_packs = (p.trans_b ? p.k : p.n) % kPack == 0 && ArePackAligned({o.w, o.x});
  return in_packs ? LaunchPacks<T, kPack>(o, p.trans_b, stream)
                  : LaunchPacks<T, 1>(o, p.trans_b, stream);
}

}  // namespace

absl::Status RunRowProduct(const Product& product, DType dtype, double alpha,
                           const ProductOperands& operands, cudaStream_t stream) {
  decltype(&LaunchRow<float>) launch = nullptr;
  DispatchDType(FloatTypes(), dtype,
                [&](auto tag) { launch = LaunchRow<typename decltype(tag)::type>; });
  return launch == nullptr ? NoLoopFor(dtype) : launch(product, alpha, operands, stream);
}

}  // namespace onward::kernels::cuda
