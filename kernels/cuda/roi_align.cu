// RoiAlign and MaxRoiPool: a thread for each bin of a channel.
#include "kernels/bind/roi_align.h"
#include "kernels/cuda/broadcast.cuh"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/fault.cuh"
#include "kernels/cuda/kernel_list.h"

namespace onward::kernels::cuda {
namespace {

struct RoiMap {
  int64_t count;  // outputs
  int64_t images, channels, height, width;
};

// An output's bin; regions are outermost.
struct RoiPlace {
  int64_t roi, channel, row, column;
};

__device__ RoiPlace PlaceOf(int64_t i, int64_t channels, int64_t rows, int64_t columns) {
  const int64_t line = Quotient(i, columns), plane = Quotient(line, rows);
  const int64_t roi = Quotient(plane, channels);
  return {roi, plane - roi * channels, line - plane * rows, i - line * columns};
}

// The mean of a bin's samples, or the greatest weighted neighbour of one.
template <typename T>
__device__ ComputeType<T> BinOf(const T* x, const RoiMap& map, const RoiExtent& rows,
                                const RoiExtent& columns, const RoiPlace& place, bool is_max) {
  using C = ComputeType<T>;
  C sum = 0, best = 0;
  bool first = true;
  for (int64_t i = 0; i < rows.samples; ++i) {
    const RoiSample row = RoiSampleOf(rows, place.row, i, map.height);
    const T *low = x + row.low * map.width, *high = x + row.high * map.width;
    const C above = static_cast<C>(row.low_weight), below = static_cast<C>(row.high_weight);
    for (int64_t j = 0; j < columns.samples; ++j) {
      const RoiSample column = RoiSampleOf(columns, place.column, j, map.width);
      const C left = static_cast<C>(column.low_weight), right = static_cast<C>(column.high_weight);
      const C parts[4] = {
          above * left * Load(low[column.low]), above * right * Load(low[column.high]),
          below * left * Load(high[column.low]), below * right * Load(high[column.high])};
      sum += parts[0] + parts[1] + parts[2] + parts[3];
      if (!is_max) continue;
      C greatest = parts[0];
      for (int n = 1; n < 4; ++n) greatest = greatest < parts[n] ? parts[n] : greatest;
      best = first || best < greatest ? greatest : best;
      first = false;
    }
  }
  if (is_max) return best;
  const int64_t samples = rows.samples * columns.samples;
  return sum / static_cast<C>(samples < 1 ? 1 : samples);
}

// A region that is too large is noted as an index is: by its samples.
template <typename T>
__global__ void AlignLoop(const T* x, const T* rois, const int64_t* images, T* y, RoiMap map,
                          RoiAlignOptions options, DeviceFaultSite fault) {
  for (int64_t i = GlobalIndex(); i < map.count; i += GlobalSize()) {
    const RoiPlace place = PlaceOf(i, map.channels, options.out_height, options.out_width);
    const int64_t image = images[place.roi];
    if (image < 0 || image >= map.images) {
      ReportBadIndex(fault, place.roi, image, map.images);
      continue;
    }
    const T* roi = rois + 4 * place.roi;
    const auto corner = [&](int c) { return static_cast<double>(Load(roi[c])); };
    const RoiExtent columns = RoiExtentOf(options, corner(0), corner(2), options.out_width);
    const RoiExtent rows = RoiExtentOf(options, corner(1), corner(3), options.out_height);
    const int64_t most = columns.samples > rows.samples ? columns.samples : rows.samples;
    if (most > kMostRoiSamples) {
      ReportBadIndex(fault, place.roi, most, kMostRoiSamples + 1);
      continue;
    }
    const T* plane = x + (image * map.channels + place.channel) * map.height * map.width;
    y[i] = Rounded<T>(BinOf(plane, map, rows, columns, place, options.is_max));
  }
}

template <typename T>
__global__ void MaxLoop(const T* x, const T* rois, T* y, RoiMap map, MaxRoiPoolOptions options,
                        DeviceFaultSite fault) {
  using C = ComputeType<T>;
  for (int64_t i = GlobalIndex(); i < map.count; i += GlobalSize()) {
    const RoiPlace place = PlaceOf(i, map.channels, options.height, options.width);
    const T* roi = rois + 5 * place.roi;
    const auto named = static_cast<double>(Load(roi[0]));
    if (!(named >= 0 && named < static_cast<double>(map.images))) {
      const bool fits = named > -1e18 && named < 1e18;
      ReportBadIndex(fault, place.roi, fits ? static_cast<int64_t>(named) : -1, map.images);
      continue;
    }
    const auto corner = [&](int c) { return static_cast<float>(Load(roi[c])); };
    const RoiBin columns =
        RoiBinOf(options.scale, corner(1), corner(3), place.column, options.width, map.width);
    const RoiBin rows =
        RoiBinOf(options.scale, corner(2), corner(4), place.row, options.height, map.height);
    const T* plane =
        x + (static_cast<int64_t>(named) * map.channels + place.channel) * map.height * map.width;
    C best = 0;
    for (int64_t r = rows.begin; r < rows.end; ++r) {
      for (int64_t c = columns.begin; c < columns.end; ++c) {
        const C value = Load(plane[r * map.width + c]);
        if ((r == rows.begin && c == columns.begin) || value > best) best = value;
      }
    }
    y[i] = Rounded<T>(best);
  }
}

RoiMap MapOf(const RunContext& context) {
  const TensorView& x = context.input(0);
  return {context.output(0).num_elements(), x.dim(0), x.dim(1), x.dim(2), x.dim(3)};
}

using LaunchAligned = absl::Status (*)(const RunContext& context, const RoiAlignOptions& options);

template <typename T>
absl::Status LaunchAlign(const RunContext& context, const RoiAlignOptions& options) {
  const RoiMap map = MapOf(context);
  return Launch(AlignLoop<T>, Blocks(map.count), kThreads, 0, StreamOf(context), context.in<T>(0),
                context.in<T>(1), context.in<int64_t>(2), context.out<T>(0), map, options,
                context.services()->device_fault());
}

class RoiAlign : public Kernel {
 public:
  RoiAlign(LaunchAligned launch, RoiAlignOptions options) : launch_(launch), options_(options) {}
  absl::Status Bind(BindContext& context) const override { return BindRoiAlign(context, options_); }
  absl::Status Run(RunContext& context) const override {
    return context.output(0).num_elements() == 0 ? absl::OkStatus() : launch_(context, options_);
  }

 private:
  LaunchAligned launch_;
  RoiAlignOptions options_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeRoiAlign(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const RoiAlignOptions options, ReadRoiAlignOptions(spec));
  LaunchAligned launch = nullptr;
  DispatchDType(FloatTypes(), spec.input_dtype(0),
                [&](auto tag) { launch = LaunchAlign<typename decltype(tag)::type>; });
  if (launch == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<RoiAlign>(launch, options);
}

using LaunchPooled = absl::Status (*)(const RunContext& context, const MaxRoiPoolOptions& options);

template <typename T>
absl::Status LaunchMax(const RunContext& context, const MaxRoiPoolOptions& options) {
  const RoiMap map = MapOf(context);
  return Launch(MaxLoop<T>, Blocks(map.count), kThreads, 0, StreamOf(context), context.in<T>(0),
                context.in<T>(1), context.out<T>(0), map, options,
                context.services()->device_fault());
}

class MaxRoiPool : public Kernel {
 public:
  MaxRoiPool(LaunchPooled launch, MaxRoiPoolOptions options) : launch_(launch), options_(options) {}
  absl::Status Bind(BindContext& context) const override {
    return BindMaxRoiPool(context, options_);
  }
  absl::Status Run(RunContext& context) const override {
    return context.output(0).num_elements() == 0 ? absl::OkStatus() : launch_(context, options_);
  }

 private:
  LaunchPooled launch_;
  MaxRoiPoolOptions options_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeMaxRoiPool(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const MaxRoiPoolOptions options, ReadMaxRoiPoolOptions(spec));
  LaunchPooled launch = nullptr;
  DispatchDType(FloatTypes(), spec.input_dtype(0),
                [&](auto tag) { launch = LaunchMax<typename decltype(tag)::type>; });
  if (launch == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<MaxRoiPool>(launch, options);
}

constexpr KernelEntry kKernels[] = {
    {"", "MaxRoiPool", "max_roi_pool_cuda", MakeMaxRoiPool},
    {"", "RoiAlign", "roi_align_cuda", MakeRoiAlign},
};

}  // namespace

KernelList RoiAlignKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
