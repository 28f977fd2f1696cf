#include <cmath>
#include <limits>

#include "kernels/binary_functors.h"
#include "kernels/cuda/attention_row.h"
#include "kernels/cuda/attention_scores.cuh"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/launch.cuh"

namespace onward::kernels::cuda {
namespace {

constexpr float kNone = -std::numeric_limits<float>::infinity();

// The softmax of one group's keys so far: the largest score, the sum of exp(score - largest), and
// this thread's part of the values weighted by these powers.
struct RowPart {
  float most = kNone, sum = 0;
  float values[kPart] = {};
};

// The part from `first` on of a row; zeros where it is not there.
template <typename T>
__device__ Pack<float, kPart> LoadRow(const TileRows<T>& rows, int64_t row, bool inside,
                                      int first) {
  Pack<float, kPart> part = {};
  if (!inside || first >= rows.size) return part;
  const T* at = rows.data + row * rows.step + first;
  if (rows.packs) {
    const Pack<T, kPart> loaded = LoadPack<kPart>(at);
#pragma unroll
    for (int i = 0; i < kPart; ++i) part.elements[i] = Load(loaded.elements[i]);
    return part;
  }
#pragma unroll
  for (int i = 0; i < kPart; ++i)
    if (first + i < rows.size) part.elements[i] = Load(at[i]);
  return part;
}

__device__ float ScoreOf(const TiledAttention& c, const HeadPair& at, int64_t key, float product) {
  float score = product * c.scale;
  if (c.softcap > 0) score = c.softcap * std::tanh(score / c.softcap);
  const AttentionRules& r = c.rules;
  if (r.mask != nullptr) score += MaskAt(r, at.batch * r.mask_batch + at.head * r.mask_head + key);
  return score;
}

// Keys base, base + kGroups, ... are this group's.
template <int kLanes, typename T>
__device__ void TakeKeys(const TiledAttention& c, const HeadPair& at, const KeySpan& span,
                         const Pack<float, kPart>& query, int64_t base, RowPart& part) {
  constexpr int kGroups = kTileThreads / kLanes, kAtOnce = 4;
  const int first = static_cast<int>(threadIdx.x) % kLanes * kPart;
  const TileRows<T> keys = KeysOf<T>(c, at, 0), values = ValuesOf<T>(c, at, 0);
  Pack<float, kPart> of_values[kAtOnce];
  float scores[kAtOnce];
#pragma unroll
  for (int j = 0; j < kAtOnce; ++j) {
    const int64_t key = base + j * kGroups;
    const Pack<float, kPart> of_keys = LoadRow(keys, key, key < span.end, first);
    of_values[j] = LoadRow(values, key, key < span.end, first);
    scores[j] = 0;
    for (int i = 0; i < kPart; ++i) scores[j] += query.elements[i] * of_keys.elements[i];
  }
  float most = part.most;
#pragma unroll
  for (int j = 0; j < kAtOnce; ++j) {
    for (int lanes = kLanes / 2; lanes > 0; lanes /= 2)
      scores[j] += __shfl_xor_sync(~0u, scores[j], lanes);
    const int64_t key = base + j * kGroups;
    scores[j] = key < span.end ? ScoreOf(c, at, key, scores[j]) : kNone;
    most = functors::Max()(most, scores[j]);
  }
  // A row that attends nothing yet has no number to subtract.
  const float below = most == kNone ? 0.0f : most, scale = std::exp(part.most - below);
  part.most = most;
  part.sum *= scale;
  for (int i = 0; i < kPart; ++i) part.values[i] *= scale;
#pragma unroll
  for (int j = 0; j < kAtOnce; ++j) {
    const float power = std::exp(scores[j] - below);
    part.sum += power;
    for (int i = 0; i < kPart; ++i) part.values[i] += power * of_values[j].elements[i];
  }
}

// A block reads all keys and values of one head of queries once: kLanes threads share a key, a part
// of four elements each.
template <typename T, int kLanes>
__global__ void __launch_bounds__(kTileThreads) AttendRow(TiledAttention c) {
  constexpr int kGroups = kTileThreads / kLanes, kAtOnce = 4, kRow = kLanes * kPart;
  const auto heads = static_cast<unsigned>(c.g.q_heads);
  const unsigned batch = blockIdx.x / heads, head = blockIdx.x - batch * heads;
  const HeadPair at = {batch, head, head / static_cast<unsigned>(c.group)};
  const int lane = static_cast<int>(threadIdx.x) % kLanes,
            group = static_cast<int>(threadIdx.x) / kLanes;
  const KeySpan span = SpanOf(c.rules, batch, 0);
  const Pack<float, kPart> query = LoadRow(QueriesOf<T>(c, at, 0), 0, true, lane * kPart);
  RowPart part;
  for (int64_t base = span.begin; base < span.end; base += kGroups * kAtOnce)
    TakeKeys<kLanes, T>(c, at, span, query, base + group, part);
  __shared__ float most[kGroups], sums[kGroups], parts[kGroups][kRow];
  if (lane == 0) {
    most[group] = part.most;
    sums[group] = part.sum;
  }
  for (int i = 0; i < kPart; ++i) parts[group][lane * kPart + i] = part.values[i];
  __syncthreads();
  const int element = static_cast<int>(threadIdx.x);
  if (element >= c.g.v_head_size) return;
  float highest = kNone, sum = 0, value = 0;
  for (const float each : most) highest = functors::Max()(highest, each);
  for (int g = 0; g < kGroups; ++g) {
    const float scale = std::exp(most[g] - (highest == kNone ? 0.0f : highest));
    sum += sums[g] * scale;
    value += parts[g][element] * scale;
  }
  const int64_t to = at.batch * c.g.y_batch + at.head * c.g.y_head + element;
  static_cast<T*>(c.y)[to] = Rounded<T>(sum > 0 ? value / sum : 0.0f);
}

template <typename T>
absl::Status LaunchRow(const TiledAttention& call, cudaStream_t stream) {
  const int64_t size = std::max(call.g.head_size, call.g.v_head_size);
  const auto kernel = size <= 32   ? AttendRow<T, 8>
                      : size <= 64 ? AttendRow<T, 16>
                                   : AttendRow<T, 32>;
  return Launch(kernel, static_cast<unsigned>(call.g.batch * call.g.q_heads), kTileThreads, 0,
                stream, call);
}

}  // namespace

absl::Status RunAttentionRow(const TiledAttention& call, cudaStream_t stream) {
  if (call.g.batch * call.g.q_heads == 0 || call.g.v_head_size == 0) return absl::OkStatus();
  decltype(&LaunchRow<float>) launch = nullptr;
  DispatchDType(TypeList<float, Float16, BFloat16>(), call.dtype,
                [&](auto tag) { launch = LaunchRow<typename decltype(tag)::type>; });
  return launch == nullptr ? NoLoopFor(call.dtype) : launch(call, stream);
}

}  // namespace onward::kernels::cuda
