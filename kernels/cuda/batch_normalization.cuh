// Statistics of the channels of X. Several blocks share a channel; what they find of its parts
// combines in an order that the shape alone decides.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/bind/batch_normalization.h"
#include "kernels/cuda/broadcast.cuh"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/packs.cuh"
#include "kernels/cuda/rows.cuh"

namespace onward::kernels::cuda {

// The elements of each channel, in parts of one block each.
struct ChannelParts {
  BatchRows rows;
  int64_t parts = 1, per_part = 0;

  ChannelParts() = default;
  explicit ChannelParts(const BatchRows& x) : rows(x) {
    constexpr int64_t kLeast = 8 * kThreads, kMost = 64, kBlocks = 1024;
    const int64_t wanted = kBlocks / std::max<int64_t>(1, x.channels);
    parts = std::clamp<int64_t>(std::min(wanted, x.count() / kLeast), 1, kMost);
    per_part = (x.count() + parts - 1) / parts;
  }
  int64_t num_blocks() const { return rows.channels * parts; }
};

// Calls use(at) for the elements of a part that are this thread's; returns how many the part has.
template <typename Use>
__device__ int64_t ForEachOfPart(const ChannelParts& p, int64_t channel, int64_t part,
                                 const Use& use) {
  const int64_t begin = part * p.per_part, spatial = p.rows.spatial;
  const int64_t left = p.rows.count() - begin, count = left < p.per_part ? left : p.per_part;
  int64_t i = threadIdx.x;
  if (i >= count) return count;
  const int64_t image = Quotient(begin + i, spatial), images = Quotient(kThreads, spatial);
  int64_t column = begin + i - image * spatial;
  const int64_t columns = kThreads - images * spatial;
  // From element to element, and from the end of a row to the next image's.
  const int64_t step = images * p.rows.channels * spatial + columns;
  const int64_t carry = (p.rows.channels - 1) * spatial;
  for (int64_t at = p.rows.row(image, channel) + column; i < count; i += kThreads) {
    use(at);
    at += step;
    column += columns;
    if (column < spatial) continue;
    column -= spatial;
    at += carry;
  }
  return count;
}

template <typename C>
struct Moments {
  C count, mean, squares;  // squares: of the differences from the mean
};

template <typename C>
__device__ Moments<C> CombineMoments(const Moments<C>& a, const Moments<C>& b) {
  const C count = a.count + b.count, delta = b.mean - a.mean;
  if (count == 0) return a;
  const C share = b.count / count;
  return {count, a.mean + delta * share, a.squares + b.squares + delta * delta * a.count * share};
}

// A block for each part of each channel.
template <typename T>
__global__ void MomentsOfParts(const T* x, Moments<ComputeType<T>>* moments, ChannelParts p) {
  using C = ComputeType<T>;
  const int64_t blocks = p.rows.channels * p.parts;
  for (int64_t block = blockIdx.x; block < blocks; block += gridDim.x) {
    const int64_t channel = Quotient(block, p.parts), part = block - channel * p.parts;
    C sum = 0, squares = 0;
    const auto count =
        static_cast<C>(ForEachOfPart(p, channel, part, [&](int64_t at) { sum += Load(x[at]); }));
    sum = CombineBlock<functors::Add>(sum);
    const C mean = count > 0 ? sum / count : C(0);
    ForEachOfPart(p, channel, part, [&](int64_t at) {
      const C difference = Load(x[at]) - mean;
      squares += difference * difference;
    });
    squares = CombineBlock<functors::Add>(squares);
    if (threadIdx.x == 0) moments[block] = {count, mean, squares};
  }
}

// Combines the parts of a channel; the mean of no elements is NaN.
template <typename C>
__device__ Moments<C> MomentsOfChannel(const Moments<C>* moments, const ChannelParts& p,
                                       int64_t channel) {
  Moments<C> all = moments[channel * p.parts];
  for (int64_t part = 1; part < p.parts; ++part)
    all = CombineMoments(all, moments[channel * p.parts + part]);
  if (all.count == 0) all.mean = std::numeric_limits<C>::quiet_NaN();
  return all;
}

template <typename T>
absl::Status LaunchMoments(const T* x, const ChannelParts& parts, Moments<ComputeType<T>>* moments,
                           cudaStream_t stream) {
  return Launch(MomentsOfParts<T>, Blocks(parts.num_blocks() * kThreads), kThreads, 0, stream, x,
                moments, parts);
}

}  // namespace onward::kernels::cuda
