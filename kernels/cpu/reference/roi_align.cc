// RoiAlign.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/kernel_list.h"
#include "onward/shape.h"

namespace onward::kernels::cpu {
namespace {

// A coordinate of a sample between two neighbours of the map.
struct Sample {
  int64_t low = 0, high = 0;
  double low_weight = 0, high_weight = 0;  // both 0: outside the map
};

struct Options {
  bool half_pixel = true;
  bool is_max = false;
  int64_t out_height = 1, out_width = 1;
  int64_t sampling_ratio = 0;
  double scale = 1;
};

// One axis of a region: where it starts, the size of a bin, samples per bin.
struct Extent {
  double start = 0, bin = 0;
  int64_t samples = 0;
};

constexpr int64_t kMaxSamples = 1 << 12;  // per bin and axis; more means a region of no sense

Extent ExtentOf(const Options& options, double from, double to, int64_t bins) {
  const double offset = options.half_pixel ? 0.5 : 0.0;
  Extent extent;
  extent.start = from * options.scale - offset;
  double size = to * options.scale - offset - extent.start;
  if (!options.half_pixel) size = std::max(size, 1.0);
  extent.bin = size / static_cast<double>(bins);
  const double adaptive = std::ceil(extent.bin);
  extent.samples = options.sampling_ratio > 0 ? options.sampling_ratio
                   : adaptive > 0             ? static_cast<int64_t>(std::min(adaptive, 1e9))
                                              : 0;
  return extent;
}

void FillSamples(const Extent& extent, int64_t bins, int64_t size, Sample* samples) {
  for (int64_t bin = 0; bin < bins; ++bin) {
    for (int64_t i = 0; i < extent.samples; ++i, ++samples) {
      double at = extent.start + static_cast<double>(bin) * extent.bin +
                  (static_cast<double>(i) + 0.5) * extent.bin / static_cast<double>(extent.samples);
      *samples = {};
      if (!(at >= -1.0 && at <= static_cast<double>(size))) continue;
      at = std::max(at, 0.0);
      samples->low = std::min(static_cast<int64_t>(at), size - 1);
      samples->high = std::min(samples->low + 1, size - 1);
      const double fraction =
          samples->low == size - 1 ? 0.0 : at - static_cast<double>(samples->low);
      samples->low_weight = 1 - fraction;
      samples->high_weight = fraction;
    }
  }
}

template <typename T>
class RoiAlign : public Kernel {
 public:
  explicit RoiAlign(Options options) : options_(options) {}
  absl::Status Bind(BindContext& context) const override {
    const DimsView map = context.input_dims(0), rois = context.input_dims(1);
    const DimsView batch = context.input_dims(2);
    const bool fits = map.size() == 4 && rois.size() == 2 && rois[1] == 4 && batch.size() == 1 &&
                      batch[0] == rois[0] && map[2] > 0 && map[3] > 0;
    if (!fits) {
      return absl::InvalidArgumentError(
          absl::StrCat("shapes ", DimsString(map), " of X, ", DimsString(rois), " of rois and ",
                       DimsString(batch), " of batch_indices do not fit together"));
    }
    context.SetOutput(0, {rois[0], map[1], options_.out_height, options_.out_width});
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const TensorView& map = context.input(0);
    const int64_t count = context.input(1).dim(0);
    int64_t most = 0;  // samples of one region's axes
    for (int64_t r = 0; r < count; ++r) {
      const int64_t image = context.in<int64_t>(2)[r];
      if (image < 0 || image >= map.dim(0)) {
        return absl::InvalidArgumentError(
            absl::StrCat("batch_indices[", r, "] is ", image, ", the batch has ", map.dim(0)));
      }
      const Extent y = Height(context, r), x = Width(context, r);
      if (y.samples > kMaxSamples || x.samples > kMaxSamples)
        return absl::InvalidArgumentError(absl::StrCat("roi ", r, " is too large"));
      most = std::max(most, y.samples * options_.out_height + x.samples * options_.out_width);
    }
    const int workers = context.pool() == nullptr ? 1 : context.pool()->num_threads();
    ONWARD_ASSIGN_OR_RETURN(void* memory,
                            context.AllocateTemporary(most * workers * int64_t{sizeof(Sample)}));
    auto* samples = static_cast<Sample*>(memory);
    context.ParallelForWorkers(count, 1, [&](int worker, int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) AlignRegion(context, r, samples + worker * most);
    });
    return absl::OkStatus();
  }

 private:
  using A = std::conditional_t<std::is_same_v<T, double>, double, float>;

  Extent Width(const RunContext& context, int64_t r) const {
    const T* roi = context.in<T>(1) + 4 * r;
    return ExtentOf(options_, static_cast<double>(roi[0]), static_cast<double>(roi[2]),
                    options_.out_width);
  }
  Extent Height(const RunContext& context, int64_t r) const {
    const T* roi = context.in<T>(1) + 4 * r;
    return ExtentOf(options_, static_cast<double>(roi[1]), static_cast<double>(roi[3]),
                    options_.out_height);
  }

  void AlignRegion(const RunContext& context, int64_t r, Sample* samples) const {
    const TensorView& map = context.input(0);
    const int64_t channels = map.dim(1), height = map.dim(2), width = map.dim(3);
    const Extent y = Height(context, r), x = Width(context, r);
    Sample* columns = samples + y.samples * options_.out_height;
    FillSamples(y, options_.out_height, height, samples);
    FillSamples(x, options_.out_width, width, columns);
    const T* in = context.in<T>(0) + context.in<int64_t>(2)[r] * channels * height * width;
    T* out = context.out<T>(0) + r * channels * options_.out_height * options_.out_width;
    for (int64_t c = 0; c < channels; ++c, in += height * width) {
      for (int64_t py = 0; py < options_.out_height; ++py) {
        for (int64_t px = 0; px < options_.out_width; ++px) {
          *out++ = static_cast<T>(Bin(in, width, samples + py * y.samples, y.samples,
                                      columns + px * x.samples, x.samples));
        }
      }
    }
  }

  A Bin(const T* in, int64_t width, const Sample* rows, int64_t num_rows, const Sample* columns,
        int64_t num_columns) const {
    A sum = 0, best = 0;
    bool first = true;
    for (int64_t i = 0; i < num_rows; ++i) {
      const T* low = in + rows[i].low * width;
      const T* high = in + rows[i].high * width;
      const A low_weight = static_cast<A>(rows[i].low_weight);
      const A high_weight = static_cast<A>(rows[i].high_weight);
      for (int64_t j = 0; j < num_columns; ++j) {
        const Sample& column = columns[j];
        const A left = static_cast<A>(column.low_weight),
                right = static_cast<A>(column.high_weight);
        const A parts[4] = {low_weight * left * static_cast<A>(low[column.low]),
                            low_weight * right * static_cast<A>(low[column.high]),
                            high_weight * left * static_cast<A>(high[column.low]),
                            high_weight * right * static_cast<A>(high[column.high])};
        sum += parts[0] + parts[1] + parts[2] + parts[3];
        if (!options_.is_max) continue;
        // The standard takes the greatest weighted neighbour, not the greatest interpolated value.
        const A greatest = *std::max_element(parts, parts + 4);
        best = first ? greatest : std::max(best, greatest);
        first = false;
      }
    }
    return options_.is_max ? best
                           : sum / static_cast<A>(std::max<int64_t>(num_rows * num_columns, 1));
  }
  Options options_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeRoiAlign(const NodeSpec& spec) {
  const Attributes& attributes = spec.attributes();
  Options options;
  options.half_pixel =
      attributes.String("coordinate_transformation_mode", "half_pixel") == "half_pixel";
  options.is_max = attributes.String("mode", "avg") == "max";
  options.out_height = attributes.Int("output_height", 1);
  options.out_width = attributes.Int("output_width", 1);
  options.sampling_ratio = attributes.Int("sampling_ratio", 0);
  options.scale = static_cast<double>(attributes.Float("spatial_scale", 1));
  if (options.out_height < 1 || options.out_width < 1 || options.sampling_ratio < 0) {
    return absl::InvalidArgumentError(absl::StrCat("output_height ", options.out_height,
                                                   ", output_width ", options.out_width,
                                                   ", sampling_ratio ", options.sampling_ratio));
  }
  std::unique_ptr<Kernel> made;
  DispatchDType(FloatTypes(), spec.input_dtype(0), [&](auto tag) {
    made = std::make_unique<RoiAlign<typename decltype(tag)::type>>(options);
  });
  if (made == nullptr) return absl::UnimplementedError("dtype");
  return made;
}

constexpr KernelEntry kKernels[] = {
    {"", "RoiAlign", "roi_align_reference", MakeRoiAlign},
};

}  // namespace

KernelList ReferenceRoiAlign() { return kKernels; }

}  // namespace onward::kernels::cpu
