#include "kernels/cuda/attention_parts.h"
#include "kernels/cuda/attention_rules.cuh"
#include "kernels/cuda/index_math.cuh"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/rows.cuh"

namespace onward::kernels::cuda {
namespace {

constexpr int kRun = 8;  // elements of 16 bits that are moved at once

template <typename Index, typename By>
struct HeadRuns {
  By of_row, of_head, of_batch;  // runs of a row, rows of a head, heads of a batch
  Index past_len, total_len, past_head, fresh_batch, fresh_head, fresh_row;  // in runs
};

template <typename Index, typename By>
__global__ void AppendHeadsLoop(const uint4* past, const uint4* fresh, uint4* to, Index count,
                                HeadRuns<Index, By> runs) {
  for (int64_t i = GlobalIndex(); i < count; i += GlobalSize()) {
    const auto place = static_cast<Index>(i);
    const Index line = runs.of_row.Quotient(place), run = place - line * runs.of_row.divisor;
    const Index plane = runs.of_head.Quotient(line), row = line - plane * runs.of_head.divisor;
    const Index batch = runs.of_batch.Quotient(plane), head = plane - batch * runs.of_batch.divisor;
    uint4 value = make_uint4(0, 0, 0, 0);
    if (row < runs.past_len) {
      value = past[plane * runs.past_head + row * runs.of_row.divisor + run];
    } else if (row < runs.total_len) {
      value = fresh[batch * runs.fresh_batch + head * runs.fresh_head +
                    (row - runs.past_len) * runs.fresh_row + run];
    }
    to[place] = value;
  }
}

template <typename Index, typename By>
absl::Status LaunchAppend(const AppendedHeads& h, int64_t count, cudaStream_t stream) {
  const auto index = [](int64_t value) { return static_cast<Index>(value); };
  HeadRuns<Index, By> runs;
  runs.of_row = By(index(h.size / kRun));
  runs.of_head = By(index(h.capacity));
  runs.of_batch = By(index(h.heads));
  runs.past_len = index(h.past_len);
  runs.total_len = index(h.past_len + h.new_len);
  runs.past_head = index(h.past_len * h.size / kRun);
  runs.fresh_batch = index(h.fresh_batch / kRun);
  runs.fresh_head = index(h.fresh_head / kRun);
  runs.fresh_row = index(h.fresh_row / kRun);
  return Launch(AppendHeadsLoop<Index, By>, Blocks(count), kThreads, 0, stream,
                static_cast<const uint4*>(h.past), static_cast<const uint4*>(h.fresh),
                static_cast<uint4*>(h.to), index(count), runs);
}

// A warp for each row. Scores that do not count get the lowest number, which is finite; masks whose
// numbers are all that low are moved up first, which changes no softmax.
template <typename T, typename M>
__global__ void WriteBias(AttentionRules r, float lowest, int64_t row_size, T* bias, bool* hidden) {
  using Threads = RowThreads<false>;
  const int lane = Threads::index();
  const int64_t rows = r.batch * r.heads * r.q_len;
  for (int64_t i = Threads::first(); i < rows; i += Threads::step()) {
    const int64_t plane = i / r.q_len, row = i - plane * r.q_len;
    const int64_t batch = plane / r.heads, head = plane - batch * r.heads;
    const M* mask = r.mask == nullptr ? nullptr
                                      : static_cast<const M*>(r.mask) + batch * r.mask_batch +
                                            head * r.mask_head + row * r.mask_row;
    const KeySpan span = SpanOf(r, batch, row);
    float most = -std::numeric_limits<float>::infinity();
    for (int64_t j = span.begin + lane; j < span.end; j += Threads::count())
      most = functors::Max()(most, mask == nullptr ? 0.0f : Masked(mask[j]));
    most = Threads::template Combine<functors::Max>(most);
    const bool nothing = most == -std::numeric_limits<float>::infinity();
    const float shift = most < lowest / 2 && !nothing ? most : 0.0f;
    for (int64_t j = lane; j < row_size; j += Threads::count()) {
      const bool counts = j >= span.begin && j < span.end;
      float value = counts ? (mask == nullptr ? 0.0f : Masked(mask[j])) - shift : lowest;
      if (value < lowest) value = lowest;
      bias[i * row_size + j] = Rounded<T>(value);
    }
    if (lane == 0) hidden[i] = nothing;
  }
}

__global__ void WriteCounts(AttentionRules r, int64_t batches, int32_t* queries, int32_t* keys,
                            bool* hidden) {
  for (int64_t batch = GlobalIndex(); batch < batches; batch += GlobalSize()) {
    int64_t count = r.counts == nullptr ? r.keys : r.counts[batch];
    if (count < 0 || count > r.keys) {
      ReportBadIndex(r.fault, batch, count, r.keys + 1);
      count = 0;
    }
    hidden[batch] = count == 0;
    queries[batch] = static_cast<int32_t>(r.q_len);
    keys[batch] = static_cast<int32_t>(count == 0 ? 1 : count);
  }
}

// A thread for each row of Y.
__global__ void ZeroRows(AttentionGeometry g, int64_t batch_step, int64_t head_step,
                         int64_t row_step, const bool* hidden, uint16_t* y) {
  const int64_t rows = g.batch * g.q_heads * g.q_len;
  for (int64_t i = GlobalIndex(); i < rows; i += GlobalSize()) {
    const int64_t plane = i / g.q_len, row = i - plane * g.q_len;
    const int64_t batch = plane / g.q_heads, head = plane - batch * g.q_heads;
    if (!hidden[batch * batch_step + head * head_step + row * row_step]) continue;
    uint16_t* to = y + batch * g.y_batch + head * g.y_head + row * g.y_row;
    for (int64_t j = 0; j < g.v_head_size; ++j) to[j] = 0;
  }
}

template <typename T, typename M>
absl::Status LaunchBias(const AttentionRules& rules, float lowest, int64_t row, void* bias,
                        bool* hidden, cudaStream_t stream) {
  return Launch(WriteBias<T, M>, RowBlocks(rules.batch * rules.heads * rules.q_len, false),
                kThreads, 0, stream, rules, lowest, row, static_cast<T*>(bias), hidden);
}

using BiasLaunch = absl::Status (*)(const AttentionRules& rules, float lowest, int64_t row,
                                    void* bias, bool* hidden, cudaStream_t stream);

template <typename T>
BiasLaunch BiasLaunchFor(const AttentionRules& rules) {
  BiasLaunch launch = nullptr;
  const DType dtype = rules.mask == nullptr ? DType::kBool : rules.mask_dtype;
  DispatchDType(TypeList<bool, float, Float16, BFloat16>(), dtype,
                [&](auto tag) { launch = LaunchBias<T, typename decltype(tag)::type>; });
  return launch;
}

}  // namespace

absl::Status AppendHeads(const AppendedHeads& heads, cudaStream_t stream) {
  const int64_t count = heads.batch * heads.heads * heads.capacity * heads.size / kRun;
  if (count == 0) return absl::OkStatus();
  return count <= INT32_MAX / 2 ? LaunchAppend<uint32_t, Divisor>(heads, count, stream)
                                : LaunchAppend<int64_t, WideDivisor>(heads, count, stream);
}

absl::Status WriteAttentionBias(const AttentionRules& rules, DType dtype, int64_t row, void* bias,
                                bool* hidden, cudaStream_t stream) {
  const bool half = dtype == DType::kFloat16;
  const BiasLaunch launch = half ? BiasLaunchFor<Float16>(rules) : BiasLaunchFor<BFloat16>(rules);
  if (launch == nullptr) return NoLoopFor(rules.mask_dtype);
  return launch(rules, half ? -65504.0f : -1e30f, row, bias, hidden, stream);
}

absl::Status WriteAttentionCounts(const AttentionRules& rules, int64_t batch, int32_t* queries,
                                  int32_t* keys, bool* hidden, cudaStream_t stream) {
  return Launch(WriteCounts, Blocks(batch), kThreads, 0, stream, rules, batch, queries, keys,
                hidden);
}

absl::Status ZeroHiddenRows(const AttentionGeometry& g, const AttentionRules& rules, int64_t rows,
                            const bool* hidden, void* y, cudaStream_t stream) {
  const int64_t head_step = rules.heads == 1 ? 0 : rows;
  const int64_t batch_step = rules.batch == 1 ? 0 : rules.heads * rows;
  return Launch(ZeroRows, Blocks(g.batch * g.q_heads * g.q_len), kThreads, 0, stream, g, batch_step,
                head_step, static_cast<int64_t>(rows == 1 ? 0 : 1), hidden,
                static_cast<uint16_t*>(y));
}

}  // namespace onward::kernels::cuda
