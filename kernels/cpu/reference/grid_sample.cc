// GridSample and AffineGrid, for any number of spatial axes.
#include "kernels/bind/grid_sample.h"

#include <algorithm>

#include "kernels/cpu/elements.h"
#include "kernels/cpu/kernel_list.h"
#include "onward/shape.h"

namespace onward::kernels::cpu {
namespace {

using Made = absl::StatusOr<std::unique_ptr<Kernel>>;

// One input element of a sample, the same for all channels.
struct Tap {
  int64_t offset;
  double weight;
  float float_weight;
};

// The taps of some samples that follow each other, those without weight left out.
struct SampleTaps {
  std::vector<Tap> taps;
  std::vector<int64_t> ends;  // sample i has the taps up to ends[i]
  std::vector<Tap> before;    // of one sample, over fewer axes
};

// Appends the product of the axes' taps for sample `sample` of the grid.
template <typename G>
void CollectTaps(const GridOptions& options, const G* grid, DimsView space, int64_t sample,
                 SampleTaps& samples) {
  const auto axes = static_cast<int64_t>(space.size());
  std::vector<Tap>& taps = samples.taps;
  const auto begin = static_cast<int64_t>(taps.size());
  taps.push_back({0, 1, 1});
  for (int64_t a = 0; a < axes; ++a) {
    const int64_t size = space[static_cast<size_t>(a)];
    // The grid names the last axis first.
    const double at = static_cast<double>(grid[sample * axes + axes - 1 - a]);
    const GridTaps axis = GridTapsOf(options, at, size);
    samples.before.assign(taps.begin() + begin, taps.end());
    taps.resize(static_cast<size_t>(begin));
    for (const Tap& tap : samples.before) {
      for (int64_t i = 0; i < axis.count; ++i) {
        if (axis.weights[i] == 0) continue;
        const double weight = tap.weight * axis.weights[i];
        taps.push_back({tap.offset * size + axis.positions[i], weight, static_cast<float>(weight)});
      }
    }
  }
  samples.ends.push_back(static_cast<int64_t>(taps.size()));
}

// What CollectTaps appends for a sample that four elements of an image surround; false for others.
template <typename G>
bool CollectSurrounding(const GridOptions& options, const G* grid, DimsView space, int64_t sample,
                        SampleTaps& samples) {
  const int64_t height = space[0], width = space[1];
  const double x = GridPosition(options, static_cast<double>(grid[2 * sample]), width);
  const double y = GridPosition(options, static_cast<double>(grid[2 * sample + 1]), height);
  if (!(x > 0 && y > 0 && x < static_cast<double>(width - 1) &&
        y < static_cast<double>(height - 1)))
    return false;
  const auto left = static_cast<int64_t>(x), top = static_cast<int64_t>(y);
  const double right_weight = x - static_cast<double>(left);
  const double bottom_weight = y - static_cast<double>(top);
  if (right_weight == 0 || bottom_weight == 0) return false;
  const int64_t at = top * width + left;
  const double above = 1 - bottom_weight, before = 1 - right_weight;
  const double weights[4] = {above * before, above * right_weight, bottom_weight * before,
                             bottom_weight * right_weight};
  const int64_t offsets[4] = {at, at + 1, at + width, at + width + 1};
  for (int i = 0; i < 4; ++i)
    samples.taps.push_back({offsets[i], weights[i], static_cast<float>(weights[i])});
  samples.ends.push_back(static_cast<int64_t>(samples.taps.size()));
  return true;
}

using Collect = void (*)(const GridOptions& options, const void* grid, DimsView space,
                         int64_t begin, int64_t end, SampleTaps& samples);

template <typename G>
void CollectSamples(const GridOptions& options, const void* grid, DimsView space, int64_t begin,
                    int64_t end, SampleTaps& samples) {
  samples.taps.clear();
  samples.ends.clear();
  const G* from = static_cast<const G*>(grid);
  const bool bilinear = options.mode == GridMode::kLinear && space.size() == 2;
  for (int64_t s = begin; s < end; ++s) {
    if (!bilinear || !CollectSurrounding(options, from, space, s, samples))
      CollectTaps(options, from, space, s, samples);
  }
}

// Writes the values of `channels` channels of the samples, which lie `in_stride` and `out_stride`
// elements apart.
using Sum = void (*)(const SampleTaps& samples, const void* in, int64_t in_stride, void* out,
                     int64_t out_stride, int64_t channels);

template <typename A, typename T>
A Term(const Tap& tap, const T* from) {
  if constexpr (std::is_same_v<A, float>) {
    return tap.float_weight * static_cast<float>(from[tap.offset]);
  } else {
    return tap.weight * from[tap.offset];
  }
}

// kChannels channels side by side: taps are read once for all.
template <int kChannels, typename T>
void SumChannels(const SampleTaps& samples, const T* in, int64_t in_stride, T* out,
                 int64_t out_stride) {
  using A = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const Tap* tap = samples.taps.data();
  for (size_t s = 0; s < samples.ends.size(); ++s) {
    A sums[kChannels] = {};
    for (const Tap* end = samples.taps.data() + samples.ends[s]; tap < end; ++tap) {
      for (int c = 0; c < kChannels; ++c) sums[c] += Term<A>(*tap, in + c * in_stride);
    }
    for (int c = 0; c < kChannels; ++c)
      out[c * out_stride + static_cast<int64_t>(s)] = static_cast<T>(sums[c]);
  }
}

template <typename T>
void SumTaps(const SampleTaps& samples, const void* in, int64_t in_stride, void* out,
             int64_t out_stride, int64_t channels) {
  const T* from = static_cast<const T*>(in);
  T* to = static_cast<T*>(out);
  int64_t c = 0;
  for (; c + 4 <= channels; c += 4)
    SumChannels<4>(samples, from + c * in_stride, in_stride, to + c * out_stride, out_stride);
  for (; c < channels; ++c)
    SumChannels<1>(samples, from + c * in_stride, in_stride, to + c * out_stride, out_stride);
}

template <typename T>
void MoveTap(const SampleTaps& samples, const void* in, int64_t in_stride, void* out,
             int64_t out_stride, int64_t channels) {
  for (int64_t c = 0; c < channels; ++c) {
    const T* from = static_cast<const T*>(in) + c * in_stride;
    T* to = static_cast<T*>(out) + c * out_stride;
    int64_t begin = 0;
    for (const int64_t end : samples.ends) {
      *to++ = begin == end ? T() : from[samples.taps[static_cast<size_t>(begin)].offset];
      begin = end;
    }
  }
}

class GridSample : public Kernel {
 public:
  GridSample(GridOptions options, Collect collect, Sum sum)
      : options_(options), collect_(collect), sum_(sum) {}
  absl::Status Bind(BindContext& context) const override { return BindGridSample(context); }
  absl::Status Run(RunContext& context) const override {
    const TensorView &in = context.input(0), &grid = context.input(1);
    const int64_t channels = in.dim(1), image = NumElements(in.dims, 2, in.rank());
    const int64_t samples = NumElements(grid.dims, 1, grid.rank() - 1);
    const int64_t size = ElementStride(in.dtype);
    if (context.output(0).num_elements() == 0) return absl::OkStatus();
    // Blocks of samples of one image.
    const int64_t blocks = (samples + kBlock - 1) / kBlock;
    const int64_t grain =
        std::max<int64_t>(1, 4096 / ((channels + 16) * std::min(samples, kBlock)));
    context.ParallelFor(in.dim(0) * blocks, grain, [&](int64_t begin, int64_t end) {
      SampleTaps taps;
      for (int64_t b = begin; b < end; ++b) {
        const int64_t n = b / blocks, first = b % blocks * kBlock;
        collect_(options_, grid.data, in.dims.subspan(2), n * samples + first,
                 n * samples + std::min(samples, first + kBlock), taps);
        sum_(taps, context.in<char>(0) + n * channels * image * size, image,
             context.out<char>(0) + (n * channels * samples + first) * size, samples, channels);
      }
    });
    return absl::OkStatus();
  }

 private:
  static constexpr int64_t kBlock = 256;
  GridOptions options_;
  Collect collect_;
  Sum sum_;
};

Made MakeGridSample(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const GridOptions options, ReadGridOptions(spec));
  Sum sum = nullptr;
  if (options.mode == GridMode::kNearest) {
    sum = DispatchElement(spec.input_dtype(0),
                          [](auto tag) -> Sum { return MoveTap<typename decltype(tag)::type>; });
  } else {
    DispatchDType(FloatTypes(), spec.input_dtype(0),
                  [&](auto tag) { sum = SumTaps<typename decltype(tag)::type>; });
  }
  if (sum == nullptr) return absl::UnimplementedError("dtype with a mode that interpolates");
  Collect collect = nullptr;
  DispatchDType(FloatTypes(), spec.input_dtype(1),
                [&](auto tag) { collect = CollectSamples<typename decltype(tag)::type>; });
  if (collect == nullptr) return absl::UnimplementedError("dtype of the grid");
  return std::make_unique<GridSample>(options, collect, sum);
}

// theta [N, k, k + 1] times the homogeneous coordinates of each position of an image.
template <typename T>
class AffineGrid : public Kernel {
 public:
  explicit AffineGrid(bool align_corners) : align_corners_(align_corners) {}
  absl::Status Bind(BindContext& context) const override { return BindAffineGrid(context); }
  absl::Status Run(RunContext& context) const override {
    const TensorView& out = context.output(0);
    const int64_t axes = out.rank() - 2, points = NumElements(out.dims, 1, out.rank() - 1);
    context.ParallelFor(out.dim(0) * points, 2048, [&](int64_t begin, int64_t end) {
      absl::InlinedVector<double, 4> at(static_cast<size_t>(axes));
      for (int64_t p = begin; p < end; ++p) {
        const T* theta = context.in<T>(0) + p / points * axes * (axes + 1);
        int64_t rest = p % points;
        for (int64_t a = axes; a-- > 0; rest /= out.dim(a + 1))  // the last axis comes first
          at[static_cast<size_t>(axes - 1 - a)] =
              AffineCoordinate(align_corners_, rest % out.dim(a + 1), out.dim(a + 1));
        for (int64_t r = 0; r < axes; ++r) {
          const T* row = theta + r * (axes + 1);
          double sum = static_cast<double>(row[axes]);
          for (int64_t a = 0; a < axes; ++a)
            sum += static_cast<double>(row[a]) * at[static_cast<size_t>(a)];
          context.out<T>(0)[p * axes + r] = static_cast<T>(sum);
        }
      }
    });
    return absl::OkStatus();
  }

 private:
  bool align_corners_;
};

Made MakeAffineGrid(const NodeSpec& spec) {
  std::unique_ptr<Kernel> made;
  DispatchDType(FloatTypes(), spec.input_dtype(0), [&](auto tag) {
    made = std::make_unique<AffineGrid<typename decltype(tag)::type>>(
        spec.attributes().Int("align_corners", 0) != 0);
  });
  if (made == nullptr) return absl::UnimplementedError("dtype");
  return made;
}

constexpr KernelEntry kKernels[] = {
    {"", "GridSample", "grid_sample_reference", MakeGridSample},
    {"", "AffineGrid", "affine_grid_reference", MakeAffineGrid},
};

}  // namespace

KernelList ReferenceGridSample() { return kKernels; }

}  // namespace onward::kernels::cpu
