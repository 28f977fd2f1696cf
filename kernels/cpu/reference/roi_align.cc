// RoiAlign and MaxRoiPool.
#include "kernels/bind/roi_align.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/kernel_list.h"
#include "onward/shape.h"

namespace onward::kernels::cpu {
namespace {

void FillSamples(const RoiExtent& extent, int64_t bins, int64_t size, RoiSample* samples) {
  for (int64_t bin = 0; bin < bins; ++bin) {
    for (int64_t i = 0; i < extent.samples; ++i) *samples++ = RoiSampleOf(extent, bin, i, size);
  }
}

constexpr int64_t kTurnGrain = 16 * 1024;  // elements
// A map is turned where so many times the bins are at least its pixels.
constexpr int64_t kSamplesAPixel = 4;

template <typename T>
class RoiAlign : public Kernel {
 public:
  explicit RoiAlign(RoiAlignOptions options) : options_(options) {}
  absl::Status Bind(BindContext& context) const override { return BindRoiAlign(context, options_); }
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
      const RoiExtent y = Height(context, r), x = Width(context, r);
      if (y.samples > kMostRoiSamples || x.samples > kMostRoiSamples)
        return absl::InvalidArgumentError(absl::StrCat("roi ", r, " is too large"));
      most = std::max(most, y.samples * options_.out_height + x.samples * options_.out_width);
    }
    const int workers = context.pool() == nullptr ? 1 : context.pool()->num_threads();
    const int64_t sample_bytes = most * workers * int64_t{sizeof(RoiSample)};
    const int64_t bins = options_.out_height * options_.out_width, channels = map.dim(1);
    const bool turns = count * bins * kSamplesAPixel >= map.dim(0) * map.dim(2) * map.dim(3);
    const int64_t turned = turns ? map.num_elements() + workers * channels : 0;
    ONWARD_ASSIGN_OR_RETURN(void* memory,
                            context.AllocateTemporary(sample_bytes + turned * int64_t{sizeof(A)}));
    auto* samples = static_cast<RoiSample*>(memory);
    A* sums = reinterpret_cast<A*>(static_cast<char*>(memory) + sample_bytes);
    A* pixels = sums + workers * channels;
    if (turns) PutChannelsLast(context, pixels);
    context.ParallelForWorkers(count, 1, [&](int worker, int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        if (turns) {
          AlignPixels(context, r, pixels, samples + worker * most, sums + worker * channels);
        } else {
          AlignRegion(context, r, samples + worker * most);
        }
      }
    });
    return absl::OkStatus();
  }

 private:
  using A = std::conditional_t<std::is_same_v<T, double>, double, float>;

  RoiExtent Width(const RunContext& context, int64_t r) const {
    const T* roi = context.in<T>(1) + 4 * r;
    return RoiExtentOf(options_, static_cast<double>(roi[0]), static_cast<double>(roi[2]),
                       options_.out_width);
  }
  RoiExtent Height(const RunContext& context, int64_t r) const {
    const T* roi = context.in<T>(1) + 4 * r;
    return RoiExtentOf(options_, static_cast<double>(roi[1]), static_cast<double>(roi[3]),
                       options_.out_height);
  }

  void AlignRegion(const RunContext& context, int64_t r, RoiSample* samples) const {
    const TensorView& map = context.input(0);
    const int64_t channels = map.dim(1), height = map.dim(2), width = map.dim(3);
    const RoiExtent y = Height(context, r), x = Width(context, r);
    RoiSample* columns = samples + y.samples * options_.out_height;
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

  // The map as [image][pixel][channel].
  void PutChannelsLast(const RunContext& context, A* to) const {
    const TensorView& map = context.input(0);
    const int64_t channels = map.dim(1), pixels = map.dim(2) * map.dim(3);
    context.ParallelFor(
        map.dim(0) * pixels, CeilDiv(kTurnGrain, channels), [&](int64_t begin, int64_t end) {
          for (int64_t p = begin; p < end; ++p) {
            const T* in = context.in<T>(0) + p / pixels * channels * pixels + p % pixels;
            A* out = to + p * channels;
            for (int64_t c = 0; c < channels; ++c) out[c] = static_cast<A>(in[c * pixels]);
          }
        });
  }

  // As AlignRegion, all channels of a sample at a time; `sums` has one a channel.
  void AlignPixels(const RunContext& context, int64_t r, const A* pixels, RoiSample* samples,
                   A* sums) const {
    const TensorView& map = context.input(0);
    const int64_t channels = map.dim(1), height = map.dim(2), width = map.dim(3);
    const int64_t bins = options_.out_height * options_.out_width;
    const RoiExtent y = Height(context, r), x = Width(context, r);
    RoiSample* columns = samples + y.samples * options_.out_height;
    FillSamples(y, options_.out_height, height, samples);
    FillSamples(x, options_.out_width, width, columns);
    const A* in = pixels + context.in<int64_t>(2)[r] * height * width * channels;
    T* out = context.out<T>(0) + r * channels * bins;
    const auto each = static_cast<A>(std::max<int64_t>(y.samples * x.samples, 1));
    for (int64_t bin = 0; bin < bins; ++bin) {
      std::fill_n(sums, channels, A{0});
      const int64_t py = bin / options_.out_width, px = bin % options_.out_width;
      for (int64_t i = 0; i < y.samples * x.samples; ++i) {
        const RoiSample& row = samples[py * y.samples + i / x.samples];
        const RoiSample& column = columns[px * x.samples + i % x.samples];
        AddSample(row, column, in, width, channels, i == 0, sums);
      }
      for (int64_t c = 0; c < channels; ++c)
        out[c * bins + bin] = static_cast<T>(options_.is_max ? sums[c] : sums[c] / each);
    }
  }

  // Adds a sample's interpolated values, or takes the greatest weighted neighbours.
  void AddSample(const RoiSample& row, const RoiSample& column, const A* in, int64_t width,
                 int64_t channels, bool first, A* sums) const {
    const A* low = in + row.low * width * channels;
    const A* high = in + row.high * width * channels;
    const int64_t left = column.low * channels, right = column.high * channels;
    const A top = static_cast<A>(row.low_weight), bottom = static_cast<A>(row.high_weight);
    const A weights[4] = {
        top * static_cast<A>(column.low_weight), top * static_cast<A>(column.high_weight),
        bottom * static_cast<A>(column.low_weight), bottom * static_cast<A>(column.high_weight)};
    for (int64_t c = 0; c < channels; ++c) {
      const A parts[4] = {weights[0] * low[left + c], weights[1] * low[right + c],
                          weights[2] * high[left + c], weights[3] * high[right + c]};
      if (options_.is_max) {
        const A greatest = *std::max_element(parts, parts + 4);
        sums[c] = first ? greatest : std::max(sums[c], greatest);
      } else {
        sums[c] += parts[0] + parts[1] + parts[2] + parts[3];
      }
    }
  }

  A Bin(const T* in, int64_t width, const RoiSample* rows, int64_t num_rows,
        const RoiSample* columns, int64_t num_columns) const {
    A sum = 0, best = 0;
    bool first = true;
    for (int64_t i = 0; i < num_rows; ++i) {
      const T* low = in + rows[i].low * width;
      const T* high = in + rows[i].high * width;
      const A low_weight = static_cast<A>(rows[i].low_weight);
      const A high_weight = static_cast<A>(rows[i].high_weight);
      for (int64_t j = 0; j < num_columns; ++j) {
        const RoiSample& column = columns[j];
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
  RoiAlignOptions options_;
};

// The greatest element of each bin of a region; regions are [image, x1, y1, x2, y2].
template <typename T>
class MaxRoiPool : public Kernel {
 public:
  explicit MaxRoiPool(MaxRoiPoolOptions options) : options_(options) {}
  absl::Status Bind(BindContext& context) const override {
    return BindMaxRoiPool(context, options_);
  }
  absl::Status Run(RunContext& context) const override {
    const TensorView& map = context.input(0);
    const int64_t channels = map.dim(1), height = map.dim(2), width = map.dim(3);
    for (int64_t r = 0; r < context.input(1).dim(0); ++r) {
      const T* roi = context.in<T>(1) + 5 * r;
      const auto image = static_cast<double>(roi[0]);
      if (!(image >= 0 && image < static_cast<double>(map.dim(0)))) {
        return absl::InvalidArgumentError(
            absl::StrCat("roi ", r, " names image ", image, " of a batch of ", map.dim(0)));
      }
      const T* in = context.in<T>(0) + static_cast<int64_t>(image) * channels * height * width;
      T* out = context.out<T>(0) + r * channels * options_.height * options_.width;
      context.ParallelFor(channels, 16, [&](int64_t begin, int64_t end) {
        for (int64_t c = begin; c < end; ++c)
          PoolRegion(roi, in + c * height * width, height, width,
                     out + c * options_.height * options_.width);
      });
    }
    return absl::OkStatus();
  }

 private:
  void PoolRegion(const T* roi, const T* in, int64_t height, int64_t width, T* out) const {
    float corners[4];
    for (int i = 0; i < 4; ++i) corners[i] = static_cast<float>(roi[i + 1]);
    for (int64_t y = 0; y < options_.height; ++y) {
      const auto [top, bottom] =
          RoiBinOf(options_.scale, corners[1], corners[3], y, options_.height, height);
      for (int64_t x = 0; x < options_.width; ++x) {
        const auto [left, right] =
            RoiBinOf(options_.scale, corners[0], corners[2], x, options_.width, width);
        T best = T(0);
        for (int64_t i = top; i < bottom; ++i) {
          for (int64_t j = left; j < right; ++j) {
            const T value = in[i * width + j];
            if ((i == top && j == left) || value > best) best = value;
          }
        }
        *out++ = best;
      }
    }
  }
  MaxRoiPoolOptions options_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeRoiAlign(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const RoiAlignOptions options, ReadRoiAlignOptions(spec));
  std::unique_ptr<Kernel> made;
  DispatchDType(FloatTypes(), spec.input_dtype(0), [&](auto tag) {
    made = std::make_unique<RoiAlign<typename decltype(tag)::type>>(options);
  });
  if (made == nullptr) return absl::UnimplementedError("dtype");
  return made;
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeMaxRoiPool(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const MaxRoiPoolOptions options, ReadMaxRoiPoolOptions(spec));
  std::unique_ptr<Kernel> made;
  DispatchDType(FloatTypes(), spec.input_dtype(0), [&](auto tag) {
    made = std::make_unique<MaxRoiPool<typename decltype(tag)::type>>(options);
  });
  if (made == nullptr) return absl::UnimplementedError("dtype");
  return made;
}

constexpr KernelEntry kKernels[] = {
    {"", "MaxRoiPool", "max_roi_pool_reference", MakeMaxRoiPool},
    {"", "RoiAlign", "roi_align_reference", MakeRoiAlign},
};

}  // namespace

KernelList ReferenceRoiAlign() { return kKernels; }

}  // namespace onward::kernels::cpu
