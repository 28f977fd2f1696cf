// MaxPool of 8-bit integers over two axes, with their channels first or last.
#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>

#include "kernels/bind/pool.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/simd/pool_plane.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kGrain = 64 * 1024;  // bytes that are read

struct BytePoolState {
  WindowAxis rows, columns;
  int64_t batch, channels;
};

template <typename T>
class BytePool : public Kernel {
 public:
  BytePool(PoolAttributes attributes, bool last, Target target)
      : attributes_(std::move(attributes)), last_(last), kernels_(kPoolsPerTarget.For(target)()) {}

  absl::Status Bind(BindContext& context) const override {
    const DimsView given = context.input_dims(0);
    if (given.size() != 4) return absl::InvalidArgumentError("X has not two spatial axes");
    Dims x(given.begin(), given.end());
    if (last_) x = {given[0], given[3], given[1], given[2]};
    ONWARD_ASSIGN_OR_RETURN(const PoolGeometry g, PoolDims(attributes_, x));
    const Dims& y = g.output;
    context.SetOutput(0, last_ ? Dims{y[0], y[2], y[3], y[1]} : y);
    *context.NewState<BytePoolState>() = {g.axes[0], g.axes[1], x[0], x[1]};
    context.SetScratch(last_ ? 0 : context.num_workers() * x[3]);
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const auto& s = context.state<BytePoolState>();
    const int64_t row_bytes = s.rows.kernel * s.columns.output * (last_ ? s.channels : 1);
    const int64_t grain = std::max<int64_t>(1, kGrain / (row_bytes * s.columns.kernel + 1));
    const int64_t rows = s.batch * (last_ ? 1 : s.channels) * s.rows.output;
    if (context.output(0).num_elements() == 0) return absl::OkStatus();
    context.ParallelForWorkers(rows, grain, [&](int worker, int64_t begin, int64_t end) {
      T* scratch = last_ ? nullptr : context.scratch<T>() + worker * s.columns.input;
      for (int64_t row = begin; row < end; ++row)
        last_ ? LastRow(context, s, row) : FirstRow(context, s, row, scratch);
    });
    return absl::OkStatus();
  }

 private:
  void Greater(const T* x, int64_t count, T* y) const {
    if constexpr (std::is_signed_v<T>) {
      kernels_.greater_int8(x, count, y);
    } else {
      kernels_.greater_uint8(x, count, y);
    }
  }

  // A row of pixels: of each the greatest ones of its window, by channels.
  void LastRow(const RunContext& context, const BytePoolState& s, int64_t row) const {
    const int64_t c = s.channels, start = s.rows.start(row % s.rows.output);
    const T* image = context.in<T>(0) + row / s.rows.output * s.rows.input * s.columns.input * c;
    T* y = context.out<T>(0) + row * s.columns.output * c;
    for (int64_t column = 0; column < s.columns.output; ++column, y += c) {
      const int64_t left = s.columns.start(column);
      bool first = true;
      for (int64_t i = s.rows.first_tap(start); i < s.rows.last_tap(start); ++i) {
        const T* line = image + (start + i * s.rows.dilation) * s.columns.input * c;
        for (int64_t j = s.columns.first_tap(left); j < s.columns.last_tap(left); ++j) {
          const T* pixel = line + (left + j * s.columns.dilation) * c;
          if (first) {
            std::memcpy(y, pixel, static_cast<size_t>(c));
          } else {
            Greater(pixel, c, y);
          }
          first = false;
        }
      }
      if (first) std::fill_n(y, c, std::numeric_limits<T>::lowest());
    }
  }

  // A row of one channel: the greatest ones of its columns, then of windows of these.
  void FirstRow(const RunContext& context, const BytePoolState& s, int64_t row, T* scratch) const {
    const int64_t start = s.rows.start(row % s.rows.output), width = s.columns.input;
    const T* plane = context.in<T>(0) + row / s.rows.output * s.rows.input * width;
    T* y = context.out<T>(0) + row * s.columns.output;
    const int64_t begin = s.rows.first_tap(start), end = s.rows.last_tap(start);
    for (int64_t i = begin; i < end; ++i) {
      const T* line = plane + (start + i * s.rows.dilation) * width;
      if (i == begin) {
        std::memcpy(scratch, line, static_cast<size_t>(width));
      } else {
        Greater(line, width, scratch);
      }
    }
    for (int64_t column = 0; column < s.columns.output; ++column) {
      const int64_t left = s.columns.start(column);
      const int64_t last = s.columns.last_tap(left);
      T greatest = std::numeric_limits<T>::lowest();
      for (int64_t j = begin < end ? s.columns.first_tap(left) : last; j < last; ++j)
        greatest = std::max(greatest, scratch[left + j * s.columns.dilation]);
      y[column] = greatest;
    }
  }

  const PoolAttributes attributes_;
  const bool last_;
  const PoolPlaneKernels& kernels_;
};

template <bool kLast>
absl::StatusOr<std::unique_ptr<Kernel>> MakeBytePool(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(PoolAttributes attributes, PoolAttributes::Parse(spec));
  if (attributes.window.kernel.size() != 2 || spec.has_output(1))
    return absl::UnimplementedError("two spatial axes, without Indices");
  const Target target = TargetOf(spec);
  if (spec.input_dtype(0) == DType::kUint8)
    return std::make_unique<BytePool<uint8_t>>(std::move(attributes), kLast, target);
  if (spec.input_dtype(0) == DType::kInt8)
    return std::make_unique<BytePool<int8_t>>(std::move(attributes), kLast, target);
  return absl::UnimplementedError("8-bit integers");
}

constexpr KernelEntry kKernels[] = {
    {"", "MaxPool", "max_pool_bytes", MakeBytePool<false>, kVectorTargets},
    {"onward", "ChannelsLastMaxPool", "channels_last_max_pool", MakeBytePool<true>, kVectorTargets},
};

}  // namespace

KernelList BytePoolKernels() { return kKernels; }

}  // namespace onward::kernels::cpu
