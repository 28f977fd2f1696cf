// onward.PointwiseDepthwiseConv and onward.ChannelsLastPointwiseDepthwiseConv in float32: for some
// channels at a time, the rows of the expanded image that the depthwise filters read are products
// in a ring of rows, which stays in the cache. Lanes are channels.
#include <algorithm>

#include "kernels/cpu/conv_filters.h"
#include "kernels/cpu/conv_plan.h"
#include "kernels/cpu/depthwise_bands.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/simd/channels_last_product.h"
#include "kernels/cpu/simd/depthwise_pixels.h"
#include "kernels/cpu/simd/depthwise_tile.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kMaxBlockOfK = 512;
constexpr int64_t kWantedChunks = 16;
// The rows of a band for each expanded row that two bands make: fewer where workers would wait.
constexpr int64_t kRowsPerRowTwice = 16;
constexpr int64_t kFewRowsPerRowTwice = 3;
constexpr int64_t kChunksPerWorker = 2;
constexpr int64_t kTileProducts = 600 * 1000;  // about 5 us
constexpr int64_t kStoredPixels = 64;          // at a time, at least

struct PointwiseDepthwiseState {
  PatchWindow window;
  int64_t batch = 0;
  int64_t blocks = 0;  // of channels, tile_cols each
  int64_t band_rows = 0, bands = 0;
  int64_t ring_rows = 0, row_floats = 0;  // of the expanded image
  int64_t stored_rows = 0;                // of outputs, at a time
  int64_t worker_floats = 0;
  int64_t grain = 1;
};

// The filters of both convolutions as [block][step of k][tile_cols].
struct PackedFilters {
  Tensor pointwise, depthwise;
};

class PointwiseDepthwiseConv : public Kernel {
 public:
  PointwiseDepthwiseConv(Target target, bool channels_last, ConvAttributes attributes,
                         ActivationSpec pointwise, ActivationSpec activation, DimsView filter_dims,
                         PackedFilters filters)
      : channels_last_(channels_last),
        tiles_(kGemmTilesPerTarget.For(target)()),
        stores_(kConvTilesPerTarget.For(target)()),
        last_stores_(kLastProductsPerTarget.For(target)()),
        sums_(kDepthwisePixelLoopsPerTarget.For(target)()),
        attributes_(std::move(attributes)),
        pointwise_(pointwise),
        activation_(activation),
        filter_dims_(filter_dims.begin(), filter_dims.end()),
        filters_(std::move(filters)) {}

  absl::Status Bind(BindContext& context) const override {
    const DimsView x = context.input_dims(0);
    if (x.size() != 4 || x[channels_last_ ? 3 : 1] != channels()) {
      const std::string needed = channels_last_
                                     ? absl::StrCat("[batch, height, width, ", channels(), "]")
                                     : absl::StrCat("[batch, ", channels(), ", height, width]");
      return absl::InvalidArgumentError(absl::StrCat("X is ", DimsString(x), "; ", needed,
                                                     " is needed for pointwise filters ",
                                                     DimsString(filter_dims_)));
    }
    const Dims expanded = {x[0], filter_dims_[0], x[channels_last_ ? 1 : 2],
                           x[channels_last_ ? 2 : 3]};
    ONWARD_ASSIGN_OR_RETURN(const ConvGeometry g,
                            ConvDims(attributes_, expanded, context.input_dims(1), nullptr));
    for (const int bias : {3, 4}) {
      if (context.has_input(bias) && context.input_dims(bias) != DimsView({g.filters}))
        return absl::InvalidArgumentError(absl::StrCat("the bias ", bias == 3 ? "B" : "A", " is ",
                                                       DimsString(context.input_dims(bias)), "; [",
                                                       g.filters, "] is needed"));
    }
    const Dims& y = g.output;
    context.SetOutput(0, channels_last_ ? Dims{y[0], y[2], y[3], y[1]} : y);
    PointwiseDepthwiseState& state = *context.NewState<PointwiseDepthwiseState>();
    state.batch = g.output_size() == 0 ? 0 : g.batch;
    if (state.batch > 0) Plan(g, context.num_workers(), state);
    context.SetScratch(state.worker_floats * context.num_workers() *
                       static_cast<int64_t>(sizeof(float)));
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const PointwiseDepthwiseState& s = context.state<PointwiseDepthwiseState>();
    context.ParallelForWorkers(
        s.batch * s.bands * s.blocks, s.grain, [&](int worker, int64_t begin, int64_t end) {
          float* scratch = context.scratch<float>() + worker * s.worker_floats;
          for (int64_t i = begin; i < end; ++i) {
            const int64_t band = i / s.blocks % s.bands;
            RunBand(context, s, i / (s.bands * s.blocks), i % s.blocks, band, scratch);
          }
        });
    return absl::OkStatus();
  }

 private:
  int64_t channels() const { return filter_dims_[1]; }
  int64_t width() const { return tiles_.tile_cols; }

  void Plan(const ConvGeometry& g, int64_t workers, PointwiseDepthwiseState& state) const {
    const PatchWindow w = state.window = WindowOf(g.axes);
    state.blocks = CeilDiv(g.filters, width());
    state.ring_rows = PaddedRows(w, 1);
    state.row_floats = PaddedWidth(w) * width();
    const int64_t twice = std::max<int64_t>(0, state.ring_rows - w.stride_h);
    const int64_t wanted = CeilDiv(w.out_h * g.batch * state.blocks, kWantedChunks);
    const auto rows_of = [&](int64_t rows_per_row_twice) {
      const int64_t least = CeilDiv(rows_per_row_twice * twice, w.stride_h);
      return EvenPiece(w.out_h, std::max({int64_t{1}, least, wanted}));
    };
    state.band_rows = rows_of(kRowsPerRowTwice);
    const int64_t chunks = g.batch * state.blocks * CeilDiv(w.out_h, state.band_rows);
    if (workers > 1 && chunks < kChunksPerWorker * workers)
      state.band_rows = rows_of(kFewRowsPerRowTwice);
    state.bands = CeilDiv(w.out_h, state.band_rows);
    state.stored_rows = std::min(state.band_rows, CeilDiv(kStoredPixels, w.out_w));
    // The ring, a row of padding, the sums.
    state.worker_floats =
        (state.ring_rows + 1) * state.row_floats + state.stored_rows * w.out_w * width();
    const int64_t products =
        state.band_rows * width() * (w.stride_h * w.in_w * channels() + w.out_w * w.taps());
    state.grain = CeilDiv(kTileProducts, products);
  }

  // The rows of one image's block of channels, from the top of a band downwards.
  struct Ring {
    float* rows;
    const float* padding;  // a row of zeros
    int64_t next;          // the image row that is expanded next
  };

  void RunBand(const RunContext& context, const PointwiseDepthwiseState& s, int64_t image,
               int64_t block, int64_t band, float* scratch) const {
    const PatchWindow& w = s.window;
    const int64_t filter = block * width(), end = std::min(w.out_h, (band + 1) * s.band_rows);
    DepthwisePixels row;
    row.window = &w;
    row.pitch = width();
    row.channels = static_cast<int>(std::min(width(), filter_dims_[0] - filter));
    row.weights = filters_.depthwise.data<float>() + filter * w.taps();
    if (context.has_input(3)) row.bias = context.in<float>(3) + filter;
    absl::InlinedVector<const float*, 8> taps(static_cast<size_t>(w.kernel_h));
    row.rows = taps.data();
    // Columns of padding stay zero.
    std::fill_n(scratch, (s.ring_rows + 1) * s.row_floats, 0.0f);
    Ring ring = {scratch, scratch + s.ring_rows * s.row_floats,
                 std::max<int64_t>(0, band * s.band_rows * w.stride_h - w.pad_top)};
    float* sums = scratch + (s.ring_rows + 1) * s.row_floats;
    for (int64_t first = band * s.band_rows; first < end; first += s.stored_rows) {
      const int64_t last = std::min(end, first + s.stored_rows);
      for (int64_t i = first; i < last; ++i) {
        SetTaps(context, s, image, block, i, ring, taps);
        row.sums = sums + (i - first) * w.out_w * width();
        sums_.sum_row(row);
      }
      StoreSums(context, s, image, filter, first * w.out_w, (last - first) * w.out_w, sums);
    }
  }

  // Stores sums, width() apart, of a block of channels from `filter` on.
  void StoreSums(const RunContext& context, const PointwiseDepthwiseState& s, int64_t image,
                 int64_t filter, int64_t pixel, int64_t count, const float* sums) const {
    const int64_t filters = filter_dims_[0], out_size = s.window.out_h * s.window.out_w;
    const auto channels = static_cast<int>(std::min(width(), filters - filter));
    float* y = context.out<float>(0) + image * filters * out_size;
    if (!channels_last_) {
      stores_.store_transposed(sums, width(), static_cast<int>(count), channels, nullptr,
                               activation_, y + filter * out_size + pixel, out_size);
      return;
    }
    PanelProduct product;
    product.segment_pixels = static_cast<int>(count);
    product.cols = channels;
    product.activation = activation_;
    product.y = y + pixel * filters + filter;
    product.y_pixel = filters;
    last_stores_.finish(product, PixelSegment(), sums);
  }

  // Points at the rows that output row `i` reads, expanding those that are new.
  void SetTaps(const RunContext& context, const PointwiseDepthwiseState& s, int64_t image,
               int64_t block, int64_t i, Ring& ring,
               absl::InlinedVector<const float*, 8>& taps) const {
    const PatchWindow& w = s.window;
    const int64_t top = i * w.stride_h - w.pad_top;
    ring.next = std::max(ring.next, top);
    for (const int64_t end = std::min(w.in_h, top + s.ring_rows); ring.next < end; ++ring.next)
      ExpandRow(context, s, image, block, ring.next,
                ring.rows + ring.next % s.ring_rows * s.row_floats);
    for (int64_t k = 0; k < w.kernel_h; ++k) {
      const int64_t at = top + k * w.dilation_h;
      taps[static_cast<size_t>(k)] =
          at < 0 || at >= w.in_h ? ring.padding : ring.rows + at % s.ring_rows * s.row_floats;
    }
  }

  void ExpandRow(const RunContext& context, const PointwiseDepthwiseState& s, int64_t image,
                 int64_t block, int64_t in_row, float* to) const {
    const PatchWindow& w = s.window;
    const int64_t filter = block * width();
    // Floats from a pixel to the next, and from a channel to the next.
    const int64_t pixel = channels_last_ ? channels() : 1;
    const int64_t channel = channels_last_ ? 1 : w.in_h * w.in_w;
    const int64_t begin = std::max<int64_t>(0, -w.pad_left);
    const int64_t count = std::min(w.in_w, PaddedWidth(w) - w.pad_left) - begin;
    if (count <= 0) return;
    GemmTile tile;
    tile.cols = static_cast<int>(std::min(width(), filter_dims_[0] - filter));
    tile.b_k = tile.c_row = width();
    tile.b_padded = true;
    tile.a_row = pixel;
    tile.a_k = channel;
    if (context.has_input(4)) tile.bias_of_column = context.in<float>(4) + filter;
    const float* x = context.in<float>(0) + image * channels() * w.in_h * w.in_w +
                     (in_row * w.in_w + begin) * pixel;
    const float* v = filters_.pointwise.data<float>() + filter * channels();
    const int most = channels_last_ ? MostRowsOfTile(tiles_.tile_rows, pixel) : tiles_.tile_rows;
    const int64_t tiles = CeilDiv(count, most);
    for (int64_t i = 0; i < tiles; ++i) {
      const RowRange pixels = RowsOfTile(count, tiles, i);
      tile.rows = pixels.count;
      tile.c = to + (begin + w.pad_left + pixels.begin) * width();
      tile.activation = {};
      for (int64_t k0 = 0; k0 < channels(); k0 += kMaxBlockOfK) {
        tile.k = std::min(kMaxBlockOfK, channels() - k0);
        tile.accumulate = k0 > 0;
        tile.a = x + k0 * channel + pixels.begin * pixel;
        tile.b = v + k0 * width();
        // The same pixels of the row below, which another core may have written.
        if (in_row + 1 < w.in_h)
          tile.fetch = {tile.a + w.in_w * pixel, channels_last_ ? pixels.count : channel};
        if (k0 + tile.k == channels()) tile.activation = pointwise_;
        tiles_.tile(tile);
      }
    }
  }

  const bool channels_last_;
  const GemmTileKernels& tiles_;
  const ConvTileKernels& stores_;
  const ChannelsLastProducts& last_stores_;
  const DepthwisePixelsKernels& sums_;
  ConvAttributes attributes_;
  ActivationSpec pointwise_, activation_;
  Dims filter_dims_;  // of the pointwise ones
  PackedFilters filters_;
};

template <bool kChannelsLast>
absl::StatusOr<std::unique_ptr<Kernel>> MakePointwiseDepthwise(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckFloat32(spec));
  const Tensor *w = spec.constant(1), *v = spec.constant(2);
  if (w == nullptr || v == nullptr) return absl::UnimplementedError("constant filters only");
  ONWARD_ASSIGN_OR_RETURN(ConvAttributes attributes, ConvAttributes::Parse(spec));
  const bool is_pointwise = v->rank() == 4 && v->dims()[2] * v->dims()[3] == 1;
  if (!is_pointwise || w->rank() != 4 || w->num_elements() == 0 || v->num_elements() == 0 ||
      w->dims()[1] != 1 || w->dims()[0] != v->dims()[0] || attributes.group != w->dims()[0])
    return absl::UnimplementedError(
        "a pointwise convolution over two axes and a depthwise one with a filter a channel only");
  ONWARD_ASSIGN_OR_RETURN(const ActivationSpec pointwise, ParseActivation(spec, "pointwise_"));
  ONWARD_ASSIGN_OR_RETURN(const ActivationSpec activation, ParseActivation(spec));
  const GemmTileKernels& tiles = kGemmTilesPerTarget.For(TargetOf(spec))();
  if (spec.only_asks()) return nullptr;
  PackedFilters filters;
  ONWARD_ASSIGN_OR_RETURN(filters.pointwise,
                          PackFloatFilters(tiles, ConvForm::kChannelLanes, *v, 1));
  ONWARD_ASSIGN_OR_RETURN(filters.depthwise,
                          PackFloatFilters(tiles, ConvForm::kChannelLanes, *w, 1));
  const Dims filter_dims(v->dims().begin(), v->dims().end());
  spec.ReleaseConstant(2);
  return std::make_unique<PointwiseDepthwiseConv>(TargetOf(spec), kChannelsLast,
                                                  std::move(attributes), pointwise, activation,
                                                  filter_dims, std::move(filters));
}

constexpr KernelEntry kKernels[] = {
    {"onward", "ChannelsLastPointwiseDepthwiseConv", "channels_last_pointwise_depthwise_conv",
     MakePointwiseDepthwise<true>, kVectorTargets},
    {"onward", "PointwiseDepthwiseConv", "pointwise_depthwise_conv", MakePointwiseDepthwise<false>,
     kVectorTargets},
};

}  // namespace

KernelList PointwiseDepthwiseConvKernels() { return kKernels; }

}  // namespace onward::kernels::cpu
