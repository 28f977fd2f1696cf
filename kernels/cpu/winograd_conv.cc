// Conv and onward.FusedConv of 3x3 taps in float32 by Winograd's minimal filtering
// (simd/winograd.h). Results differ from sums of products by about 4e-6 of the largest ones, and an
// infinity or NaN reaches all pixels of its tiles; strict arithmetic does without it. The images of
// a dilated convolution are cut into their phases first.
#include <algorithm>
#include <optional>

#include "kernels/cpu/conv_algorithm.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/pixel_phases.h"
#include "kernels/cpu/simd/winograd.h"
#include "kernels/cpu/winograd_plan.h"

namespace onward::kernels::cpu {
namespace {

struct WinogradData {
  const float* x;
  const float* filters;  // transformed, in the order of PackFilters
  const float* bias;
  const float* residual;
  float* y;
  float* windows;  // transformed, of all blocks, where chunks share them
  ActivationSpec activation;
};

// One run. A block is a run of tiles of one image.
class WinogradRun {
 public:
  WinogradRun(const GemmTileKernels& tiles, const WinogradKernels& kernels,
              const WinogradPlan& plan, const WinogradData& data)
      : tiles_(tiles), kernels_(kernels), plan_(plan), data_(data) {}

  // The windows of channel `part` % channels and block `part` / channels.
  void TransformShared(int64_t part) const {
    const int64_t block = part / plan_.channels;
    Transform(block, part % plan_.channels, data_.windows + block * plan_.block_floats());
  }

  void RunChunk(int64_t chunk, float* products) const {
    const int64_t block = chunk / plan_.row_chunks;
    const int64_t row_tile = chunk % plan_.row_chunks * plan_.row_tiles_per_chunk;
    const int64_t end = std::min(plan_.row_tiles, row_tile + plan_.row_tiles_per_chunk);
    float* windows = data_.windows + block * plan_.block_floats();
    if (!plan_.shared) {
      windows = products + plan_.product_floats();
      for (int64_t c = 0; c < plan_.channels; ++c) Transform(block, c, windows);
    }
    for (int64_t i = row_tile; i < end; i += plan_.group) {
      const int64_t group_end = std::min(end, i + plan_.group);
      Multiply(block, i, group_end, windows, products);
      Store(block, i, group_end, products);
    }
  }

 private:
  // The plane of one of `channels` of the block's image, whose phases lie side by side.
  int64_t PlaneOf(int64_t block, int64_t channels, int64_t channel) const {
    const int64_t image = block / plan_.blocks;
    return (image / plan_.phases * channels + channel) * plan_.phases + image % plan_.phases;
  }
  int64_t FirstTile(int64_t block) const { return block % plan_.blocks * plan_.width; }
  int TilesOf(int64_t block) const {
    return static_cast<int>(std::min(plan_.width, plan_.tiles() - FirstTile(block)));
  }

  void Transform(int64_t block, int64_t channel, float* windows) const {
    WinogradWindows w;
    w.x = data_.x + PlaneOf(block, plan_.channels, channel) * plan_.in_h * plan_.in_w;
    w.in_h = plan_.in_h;
    w.in_w = plan_.in_w;
    w.v = windows + channel * plan_.width;
    w.step = plan_.window_step;
    const int64_t first = FirstTile(block), end = first + TilesOf(block);
    for (int64_t tile = first; tile < end; tile += w.tiles, w.v += w.tiles) {
      const int64_t x = tile % plan_.tiles_w;
      w.tiles = static_cast<int>(std::min(end - tile, plan_.tiles_w - x));
      w.top = tile / plan_.tiles_w * plan_.m - plan_.pad_top;
      w.left = x * plan_.m - plan_.pad_left;
      kernels_.transform_windows(w);
    }
  }

  // The products of row tiles [begin, end).
  void Multiply(int64_t block, int64_t begin, int64_t end, const float* windows,
                float* products) const {
    const int64_t first = RowsOfTile(plan_.filters, plan_.row_tiles, begin).begin;
    GemmTile tile;
    tile.cols = TilesOf(block);
    tile.k = plan_.channels;
    tile.a_row = 1;
    tile.b_k = tile.c_row = plan_.width;
    tile.b_padded = true;
    tile.b = windows;
    const auto filters_of = [&](RowRange rows, int64_t f) {
      return data_.filters + (rows.begin * plan_.frequencies() + f * rows.count) * plan_.channels;
    };
    for (int64_t f = 0; f < plan_.frequencies(); ++f) {
      for (int64_t i = begin; i < end; ++i) {
        const RowRange rows = RowsOfTile(plan_.filters, plan_.row_tiles, i);
        tile.rows = rows.count;
        tile.a_k = rows.count;
        tile.a = filters_of(rows, f);
        // No filter of a frequency is read twice for a block.
        const bool ends_row = i + 1 == end;
        const RowRange next = RowsOfTile(plan_.filters, plan_.row_tiles, ends_row ? begin : i + 1);
        const bool is_last = ends_row && f + 1 == plan_.frequencies();
        tile.fetch = {is_last ? nullptr : filters_of(next, f + (ends_row ? 1 : 0)),
                      is_last ? 0 : next.count};
        tile.c = products + f * plan_.product_step + (rows.begin - first) * plan_.width;
        tiles_.tile(tile);
      }
      tile.b += plan_.window_step;
    }
  }

  void Store(int64_t block, int64_t begin, int64_t end, const float* products) const {
    const int64_t first = RowsOfTile(plan_.filters, plan_.row_tiles, begin).begin;
    const RowRange last = RowsOfTile(plan_.filters, plan_.row_tiles, end - 1);
    WinogradTiles t;
    t.step = plan_.product_step;
    t.first = FirstTile(block);
    t.tiles = TilesOf(block);
    t.tiles_w = plan_.tiles_w;
    t.out_h = plan_.out_h;
    t.out_w = plan_.out_w;
    t.activation = data_.activation;
    for (int64_t filter = first; filter < last.begin + last.count; ++filter) {
      const int64_t at = PlaneOf(block, plan_.filters, filter) * plan_.out_h * plan_.out_w;
      t.products = products + (filter - first) * plan_.width;
      t.bias = data_.bias == nullptr ? 0 : data_.bias[filter];
      t.residual = data_.residual == nullptr ? nullptr : data_.residual + at;
      t.y = data_.y + at;
      kernels_.store_tiles(t);
    }
  }

  const GemmTileKernels& tiles_;
  const WinogradKernels& kernels_;
  const WinogradPlan& plan_;
  const WinogradData& data_;
};

struct WinogradState {
  WinogradPlan plan;          // of the phases' images
  PixelPhases input, output;  // of one phase: the images themselves
  // In scratch, in floats.
  int64_t workers_offset = 0, x_offset = 0, residual_offset = 0, y_offset = 0;

  bool has_phases() const { return plan.phases > 1; }
  int64_t x_planes() const { return plan.images / plan.phases * plan.channels; }
  int64_t y_planes() const { return plan.images / plan.phases * plan.filters; }
  int64_t x_floats() const { return x_planes() * input.pixels(); }
  int64_t y_floats() const { return y_planes() * output.pixels(); }
};

class Winograd : public ConvAlgorithm {
 public:
  // `filters`: transformed, or empty where each run has its own.
  Winograd(const GemmTileKernels& tiles, int64_t m, ActivationSpec activation, Tensor filters,
           FilterOrder order)
      : tiles_(tiles),
        kernels_((m == 2 ? kWinograd2PerTarget : kWinograd4PerTarget).For(tiles.target)()),
        patches_(kConvTilesPerTarget.For(tiles.target)()),
        m_(m),
        activation_(activation),
        filters_(std::move(filters)),
        order_(order) {}

  const void* Bind(BindContext& context, const ConvGeometry& g) const override {
    auto* s = context.NewArray<WinogradState>(1);
    const WindowAxis &rows = g.axes[0], &columns = g.axes[1];
    s->plan = PlanWinograd(tiles_, m_, g);
    s->input = {rows.input, columns.input, rows.dilation, columns.dilation};
    s->output = {rows.output, columns.output, rows.dilation, columns.dilation};
    s->workers_offset = s->plan.shared_floats() + FilterScratch(s->plan);
    s->x_offset = s->workers_offset + s->plan.worker_floats() * context.num_workers();
    s->y_offset = s->x_offset + (s->has_phases() ? s->x_floats() : 0);
    s->residual_offset = s->y_offset + (s->has_phases() ? s->y_floats() : 0);
    const bool splits_residual = s->has_phases() && context.has_input(3);
    context.SetScratch((s->residual_offset + (splits_residual ? s->y_floats() : 0)) *
                       static_cast<int64_t>(sizeof(float)));
    return s;
  }

  void Run(RunContext& context, const void* state) const override {
    const WinogradState& s = *static_cast<const WinogradState*>(state);
    float* scratch = context.scratch<float>();
    float* filters = scratch + s.plan.shared_floats();
    if (filters_.empty()) TransformFilters(context, s.plan, filters);
    WinogradData data = {context.in<float>(0),
                         filters_.empty() ? filters : filters_.data<float>(),
                         context.has_input(2) ? context.in<float>(2) : nullptr,
                         context.has_input(3) ? context.in<float>(3) : nullptr,
                         context.out<float>(0),
                         scratch,
                         activation_};
    if (!s.has_phases()) return RunImages(context, s, data);
    SplitPhases(context, patches_, s.input, s.x_planes(), data.x, scratch + s.x_offset);
    data.x = scratch + s.x_offset;
    if (data.residual != nullptr) {
      float* residual = scratch + s.residual_offset;
      SplitPhases(context, patches_, s.output, s.y_planes(), data.residual, residual);
      data.residual = residual;
    }
    data.y = scratch + s.y_offset;
    RunImages(context, s, data);
    JoinPhases(context, s.output, s.y_planes(), data.y, context.out<float>(0));
  }

 private:
  static constexpr int64_t kTransformGrain = 8;  // channels of a block: about 3 us
  static constexpr int64_t kFilterGrain = 32;    // channels of a tile of filters

  int64_t FilterScratch(const WinogradPlan& plan) const {
    return filters_.empty() ? plan.filter_floats() : 0;
  }

  void RunImages(const RunContext& context, const WinogradState& s,
                 const WinogradData& data) const {
    const WinogradPlan& plan = s.plan;
    const WinogradRun run(tiles_, kernels_, plan, data);
    if (plan.shared) {
      context.ParallelFor(plan.images * plan.blocks * plan.channels, kTransformGrain,
                          [&](int64_t begin, int64_t end) {
                            for (int64_t i = begin; i < end; ++i) run.TransformShared(i);
                          });
    }
    float* workers = context.scratch<float>() + s.workers_offset;
    context.ParallelForWorkers(plan.chunks(), 1, [&](int worker, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        run.RunChunk(i, workers + worker * plan.worker_floats());
    });
  }

  // In the order of PackFilters.
  void TransformFilters(const RunContext& context, const WinogradPlan& plan, float* to) const {
    const bool transposed = order_ == FilterOrder::kConvTranspose;
    const int64_t filter_step = transposed ? 9 : plan.channels * 9;
    const int64_t channel_step = transposed ? plan.filters * 9 : 9;
    context.ParallelFor(
        plan.row_tiles * plan.channels, kFilterGrain, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const RowRange rows = RowsOfTile(plan.filters, plan.row_tiles, i / plan.channels);
            const int64_t channel = i % plan.channels;
            WinogradFilters f;
            f.w = context.in<float>(1) + rows.begin * filter_step + channel * channel_step;
            f.filter_step = filter_step;
            f.filters = rows.count;
            f.reversed = transposed;
            f.u = to + rows.begin * plan.frequencies() * plan.channels + channel * rows.count;
            f.step = plan.channels * rows.count;
            kernels_.transform_filters(f);
          }
        });
  }

  const GemmTileKernels& tiles_;
  const WinogradKernels& kernels_;
  const ConvTileKernels& patches_;
  int64_t m_;
  ActivationSpec activation_;
  Tensor filters_;
  FilterOrder order_;
};

// Transforms w [filters, channels, 3, 3] to [tile of filters][frequency][channel][filter].
absl::StatusOr<Tensor> PackFilters(const GemmTileKernels& tiles, int64_t m, const Tensor& w) {
  const int64_t filters = w.dims()[0], channels = w.dims()[1], taps = (m + 2) * (m + 2);
  ONWARD_ASSIGN_OR_RETURN(Tensor packed,
                          Tensor::Create(DType::kFloat32, {filters, channels, taps}));
  float* to = packed.mutable_data<float>();
  const int64_t row_tiles = CeilDiv(filters, tiles.tile_rows);
  for (int64_t i = 0; i < row_tiles; ++i) {
    const RowRange rows = RowsOfTile(filters, row_tiles, i);
    for (int64_t c = 0; c < channels; ++c) {
      for (int r = 0; r < rows.count; ++r) {
        float u[kMaxWinogradFrequencies];
        TransformFilter(m, w.data<float>() + ((rows.begin + r) * channels + c) * 9, u);
        for (int64_t f = 0; f < taps; ++f) to[(f * channels + c) * rows.count + r] = u[f];
      }
    }
    to += taps * channels * rows.count;
  }
  return packed;
}

bool IsAll(const Dims& values, int64_t value) {
  return std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == value; });
}

// The sizes of the images, or of the phases of dilated ones, whose sizes must be known then.
std::optional<WinogradSizes> SizesOfNode(const NodeSpec& spec, const ConvAttributes& attributes,
                                         DimsView filters) {
  if (FitsWinograd(attributes, filters))
    return KnownSizes(spec, filters[1], filters[0], spec.constant(1) != nullptr);
  const std::optional<ConvGeometry> g = KnownGeometry(spec, attributes);
  return g ? WinogradSizesOf(*g) : std::nullopt;
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeWinograd(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckFloat32(spec));
  if (spec.options().precision == Precision::kStrict)
    return absl::UnimplementedError("not in strict arithmetic");
  const std::optional<Dims> filters = spec.input_type(1).static_dims();
  ONWARD_ASSIGN_OR_RETURN(ConvAttributes attributes, ConvAttributes::Parse(spec));
  const Tensor* w = spec.constant(1);
  const std::optional<WinogradSizes> sizes =
      filters ? SizesOfNode(spec, attributes, *filters) : std::nullopt;
  if (!sizes) {
    return absl::UnimplementedError(
        "3x3 taps, one group, strides of 1, and dilations of 1 or that divide the padding only");
  }
  ONWARD_ASSIGN_OR_RETURN(const ActivationSpec activation, ParseActivation(spec));
  const GemmTileKernels& tiles = kGemmTilesPerTarget.For(TargetOf(spec))();
  const int64_t m = ChooseWinograd(tiles.tile_cols / 2, *sizes);
  if (m == 0) return absl::UnimplementedError("sums of products take less time for these sizes");
  if (spec.only_asks()) return nullptr;
  if (w == nullptr) {
    return ConvKernel(std::move(attributes),
                      WinogradProducts(tiles, activation, m, FilterOrder::kConv));
  }
  ONWARD_ASSIGN_OR_RETURN(std::unique_ptr<ConvAlgorithm> algorithm,
                          WinogradProducts(tiles, activation, m, *w));
  spec.ReleaseConstant(1);
  return ConvKernel(std::move(attributes), std::move(algorithm));
}

constexpr KernelEntry kKernels[] = {
    {"", "Conv", "winograd_conv", MakeWinograd, kVectorTargets},
    {"onward", "FusedConv", "fused_winograd_conv", MakeWinograd, kVectorTargets},
};

}  // namespace

bool FitsWinograd(const ConvAttributes& attributes, DimsView filters) {
  return filters.size() == 4 && FitsWinograd(filters.subspan(2), attributes.window.strides,
                                             attributes.window.dilations, attributes.group);
}

bool FitsWinograd(DimsView kernel, const Dims& strides, const Dims& dilations, int64_t group) {
  return kernel == DimsView({3, 3}) && group == 1 && IsAll(strides, 1) && IsAll(dilations, 1);
}

ConvAlgorithmOr WinogradProducts(const GemmTileKernels& tiles, ActivationSpec activation, int64_t m,
                                 const Tensor& w) {
  ONWARD_ASSIGN_OR_RETURN(Tensor filters, PackFilters(tiles, m, w));
  return std::make_unique<Winograd>(tiles, m, activation, std::move(filters), FilterOrder::kConv);
}

std::unique_ptr<ConvAlgorithm> WinogradProducts(const GemmTileKernels& tiles,
                                                ActivationSpec activation, int64_t m,
                                                FilterOrder order) {
  return std::make_unique<Winograd>(tiles, m, activation, Tensor(), order);
}

KernelList WinogradConvKernels() { return kKernels; }

}  // namespace onward::kernels::cpu
