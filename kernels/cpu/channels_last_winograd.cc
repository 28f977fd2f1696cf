// onward.ChannelsLastFusedConv of 3x3 taps in float32 by Winograd's minimal filtering
// (simd/channels_last_winograd.h). Of bfloat16, too: where no tiles multiply it, a quarter of the
// products takes less time than all of them at twice the rate. Windows and filters are not rounded
// between.
#include "kernels/cpu/simd/channels_last_winograd.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "kernels/cpu/channels_last_plan.h"
#include "kernels/cpu/conv_algorithm.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/simd/channels_last_product.h"
#include "kernels/cpu/simd/gemm_tile.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kTile = 4, kWindow = 6, kFrequencies = kWindow * kWindow;
constexpr int64_t kLeastChannels = 16;
constexpr int64_t kFilterFloats = int64_t{3} << 20;  // more come from memory for each chunk
constexpr int64_t kFewChunks = 4;                    // below, chunks share the windows
constexpr int64_t kCacheLine = 16;                   // floats
constexpr double kWeight = 1.2;                      // cycles of reading one

// The windows of a chunk stay in the second-level cache: those of more tiles read the filters less
// often.
int64_t MostWindowFloats() {
  static const int64_t floats = [] {
    const int64_t bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return (bytes > 0 ? bytes : int64_t{1} << 20) / 16 * 7 / static_cast<int64_t>(sizeof(float));
  }();
  return floats;
}

struct LastWinogradPlan {
  int64_t images, channels, filters;
  int64_t in_h, in_w, out_h, out_w, top, left;
  int64_t tiles_h, tiles_w;
  int64_t tiles_per_chunk, tile_chunks, panels, panels_per_chunk, panel_chunks;
  // Floats from one frequency to the next, which are not a power of two.
  int64_t window_step, product_step;
  int64_t products;              // where they begin in a worker's scratch, in floats
  int64_t zeros, worker_floats;  // a padding pixel, a worker's scratch

  int64_t tiles() const { return tiles_h * tiles_w; }
  int64_t chunks() const { return images * tile_chunks * panel_chunks; }
};

class LastWinogradConv : public Kernel {
 public:
  LastWinogradConv(Target target, ConvAttributes attributes, ActivationSpec activation,
                   Tensor filters)
      : element_bytes_(kLastProductsPerTarget.For(target)().sizes.element_bytes),
        products_(kGemmTilesPerTarget.For(target)()),
        kernels_(kLastWinogradPerTarget.For(target)()),
        attributes_(std::move(attributes)),
        activation_(activation),
        filters_(std::move(filters)) {}

  absl::Status Bind(BindContext& context) const override;
  absl::Status Run(RunContext& context) const override;

 private:
  void Cut(int64_t workers, LastWinogradPlan& s) const;
  void TransformWindows(const RunContext& context, const LastWinogradPlan& s, int64_t image,
                        int64_t first, int64_t count, float* windows) const;
  void Multiply(const LastWinogradPlan& s, int64_t panel, int64_t count, const float* windows,
                float* products) const;
  void StoreTiles(const RunContext& context, const LastWinogradPlan& s, int64_t image,
                  int64_t panel, int64_t first, int64_t count, const float* products) const;
  void RunChunk(const RunContext& context, const LastWinogradPlan& s, int64_t chunk,
                float* own) const;

  const int64_t element_bytes_;
  const GemmTileKernels& products_;
  const LastWinogradKernels& kernels_;
  const ConvAttributes attributes_;
  const ActivationSpec activation_;
  const Tensor filters_;  // [panel][frequency][channel][tile_cols]
};

void LastWinogradConv::Cut(int64_t workers, LastWinogradPlan& s) const {
  const int64_t rows = products_.tile_rows;
  const int64_t most =
      std::max<int64_t>(1, MostWindowFloats() / (kFrequencies * s.channels * rows));
  s.tiles_per_chunk =
      EvenPiece(s.tiles(), BalancedPiece(CeilDiv(s.tiles(), rows), most, s.images, workers) * rows);
  s.tile_chunks = CeilDiv(s.tiles(), s.tiles_per_chunk);
  s.panels = CeilDiv(s.filters, products_.tile_cols);
  const int64_t chunks = std::max<int64_t>(1, s.images * s.tile_chunks);
  s.panels_per_chunk = EvenPiece(s.panels, CeilDiv(s.panels, CeilDiv(kFewChunks, chunks)));
  s.panel_chunks = CeilDiv(s.panels, s.panels_per_chunk);
  s.window_step = s.tiles_per_chunk * s.channels + kCacheLine;
  s.product_step = s.tiles_per_chunk * products_.tile_cols + kCacheLine;
  s.products = CeilDiv(kFrequencies * s.window_step, kCacheLine) * kCacheLine;
  s.worker_floats = s.products + kFrequencies * s.product_step;
}

absl::Status LastWinogradConv::Bind(BindContext& context) const {
  const DimsView given = context.input_dims(0);
  if (given.size() != 4) return absl::InvalidArgumentError("X has not two spatial axes");
  const DimsView bias = context.has_input(2) ? context.input_dims(2) : DimsView();
  ONWARD_ASSIGN_OR_RETURN(const ConvGeometry g,
                          ConvDims(attributes_, Dims{given[0], given[3], given[1], given[2]},
                                   context.input_dims(1), context.has_input(2) ? &bias : nullptr));
  const Dims y = {g.output[0], g.output[2], g.output[3], g.output[1]};
  ONWARD_RETURN_IF_ERROR(CheckResidual(context, y));
  context.SetOutput(0, y);
  if (context.has_input(3)) context.AllowInPlace(0, 3);
  auto* s = context.NewState<LastWinogradPlan>();
  const WindowAxis &rows = g.axes[0], &columns = g.axes[1];
  s->images = g.batch, s->channels = g.channels, s->filters = g.filters;
  s->in_h = rows.input, s->in_w = columns.input;
  s->out_h = rows.output, s->out_w = columns.output;
  s->top = rows.pad_begin, s->left = columns.pad_begin;
  s->tiles_h = CeilDiv(s->out_h, kTile), s->tiles_w = CeilDiv(s->out_w, kTile);
  Cut(context.num_workers(), *s);
  s->zeros = CeilDiv(s->channels, kCacheLine) * kCacheLine;
  context.SetScratch((s->zeros + s->worker_floats * context.num_workers()) *
                     static_cast<int64_t>(sizeof(float)));
  return absl::OkStatus();
}

void LastWinogradConv::TransformWindows(const RunContext& context, const LastWinogradPlan& s,
                                        int64_t image, int64_t first, int64_t count,
                                        float* windows) const {
  const int64_t pixel = s.channels * element_bytes_;
  const char* x = context.in<char>(0) + image * s.in_h * s.in_w * pixel;
  const void* padding = context.scratch<float>();  // zeros, before the workers' scratch
  LastWindow window;
  window.channels = s.channels, window.step = s.window_step;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t top = (first + i) / s.tiles_w * kTile - s.top;
    const int64_t left = (first + i) % s.tiles_w * kTile - s.left;
    for (int64_t at = 0; at < kFrequencies; ++at) {
      const int64_t row = top + at / kWindow, column = left + at % kWindow;
      const bool is_inside = row >= 0 && row < s.in_h && column >= 0 && column < s.in_w;
      window.pixels[at] = is_inside ? x + (row * s.in_w + column) * pixel : padding;
    }
    window.v = windows + i * s.channels;
    kernels_.transform_window(window);
  }
}

void LastWinogradConv::Multiply(const LastWinogradPlan& s, int64_t panel, int64_t count,
                                const float* windows, float* products) const {
  const int64_t width = products_.tile_cols, matrix = s.channels * width;
  const float* filters = filters_.data<float>() + panel * kFrequencies * matrix;
  const int64_t rows = EvenPiece(count, MostRowsOfTile(products_.tile_rows, s.channels));
  GemmTile tile;
  tile.cols = static_cast<int>(width);
  tile.k = s.channels;
  tile.a_row = s.channels, tile.a_k = 1;
  tile.b_k = width, tile.b_padded = true;
  tile.c_row = width;
  for (int64_t f = 0; f < kFrequencies; ++f) {
    tile.b = filters + f * matrix;
    const float* next = f + 1 < kFrequencies ? tile.b + matrix : nullptr;
    for (int64_t row = 0; row < count; row += rows) {
      tile.rows = static_cast<int>(std::min(rows, count - row));
      tile.a = windows + f * s.window_step + row * s.channels;
      tile.c = products + f * s.product_step + row * width;
      tile.fetch.TakePart(next, matrix, row / rows, CeilDiv(count, rows), tile.k);
      products_.tile(tile);
    }
  }
}

void LastWinogradConv::StoreTiles(const RunContext& context, const LastWinogradPlan& s,
                                  int64_t image, int64_t panel, int64_t first, int64_t count,
                                  const float* products) const {
  const int64_t width = products_.tile_cols, filter = panel * width;
  LastTile tile;
  tile.step = s.product_step;
  tile.filters = static_cast<int>(std::min(width, s.filters - filter));
  if (context.has_input(2)) tile.bias = context.in<float>(2) + filter;
  tile.activation = activation_;
  tile.y_row = s.out_w * s.filters, tile.y_pixel = s.filters;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = (first + i) / s.tiles_w * kTile, column = (first + i) % s.tiles_w * kTile;
    const int64_t at = ((image * s.out_h + row) * s.out_w + column) * s.filters + filter;
    tile.products = products + i * width;
    tile.rows = static_cast<int>(std::min(kTile, s.out_h - row));
    tile.columns = static_cast<int>(std::min(kTile, s.out_w - column));
    if (context.has_input(3)) tile.residual = context.in<char>(3) + at * element_bytes_;
    tile.y = context.out<char>(0) + at * element_bytes_;
    kernels_.store_tile(tile);
  }
}

void LastWinogradConv::RunChunk(const RunContext& context, const LastWinogradPlan& s, int64_t chunk,
                                float* own) const {
  const int64_t image = chunk / s.panel_chunks / s.tile_chunks;
  const int64_t first = chunk / s.panel_chunks % s.tile_chunks * s.tiles_per_chunk;
  const int64_t count = std::min(s.tiles_per_chunk, s.tiles() - first);
  const int64_t panel = chunk % s.panel_chunks * s.panels_per_chunk;
  const int64_t end = std::min(s.panels, panel + s.panels_per_chunk);
  TransformWindows(context, s, image, first, count, own);
  for (int64_t p = panel; p < end; ++p) {
    Multiply(s, p, count, own, own + s.products);
    StoreTiles(context, s, image, p, first, count, own + s.products);
  }
}

absl::Status LastWinogradConv::Run(RunContext& context) const {
  const auto& s = context.state<LastWinogradPlan>();
  if (context.output(0).num_elements() == 0) return absl::OkStatus();
  std::fill_n(context.scratch<float>(), s.zeros, 0.0f);
  context.ParallelForWorkers(s.chunks(), 1, [&](int worker, int64_t begin, int64_t end) {
    float* own = context.scratch<float>() + s.zeros + worker * s.worker_floats;
    for (int64_t i = begin; i < end; ++i) RunChunk(context, s, i, own);
  });
  return absl::OkStatus();
}

absl::StatusOr<Tensor> PackFilters(Target target, const Tensor& w) {
  const int64_t filters = w.dims()[0], channels = w.dims()[1];
  const int64_t width = kGemmTilesPerTarget.For(target)().tile_cols;
  const int64_t panels = CeilDiv(filters, width);
  ONWARD_ASSIGN_OR_RETURN(Tensor packed,
                          Tensor::Create(DType::kFloat32, {panels, kFrequencies, channels, width}));
  float* to = packed.mutable_data<float>();
  std::fill_n(to, packed.num_elements(), 0.0f);
  WinogradFilters some;
  some.filter_step = channels * 9;
  some.step = channels * width;
  for (int64_t panel = 0; panel < panels; ++panel) {
    some.filters = static_cast<int>(std::min(width, filters - panel * width));
    for (int64_t c = 0; c < channels; ++c) {
      some.w = w.data<float>() + (panel * width * channels + c) * 9;
      some.u = to + (panel * kFrequencies * channels + c) * width;
      kWinograd4PerTarget.For(target)().transform_filters(some);
    }
  }
  return packed;
}

// Cycles of AVX-512 with one product a cycle: of sums of products, and of tiles with their
// transforms. Few tiles wait for the weights of float32, four times those of the sums.
double CostOfProducts(bool pairs, double pixels, double channels, double filters) {
  const double weights = channels * filters;
  return pairs ? pixels * 9 * weights / 28 : (pixels / 15 + kWeight) * 9 * weights;
}
double CostOfTiles(bool pairs, double tiles, double channels, double filters) {
  const double weights = channels * filters;
  return tiles * (36 * weights / 15 + 20 * channels + 20 * filters) +
         (pairs ? 0 : kWeight * 36 * weights);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeWinograd(const NodeSpec& spec, DType dtype) {
  const Tensor* w = spec.constant(1);
  if (spec.input_dtype(0) != dtype || spec.output_type(0).dtype != dtype || w == nullptr)
    return absl::UnimplementedError("constant weights and channels that come last only");
  ONWARD_ASSIGN_OR_RETURN(ConvAttributes attributes, ConvAttributes::Parse(spec));
  if (!FitsWinograd(attributes, w->dims()))
    return absl::UnimplementedError("3x3 taps, one group, strides and dilations of 1 only");
  const int64_t filters = w->dims()[0], channels = w->dims()[1];
  // Rows and columns that are not known are taken to be many.
  const auto& y = spec.output_type(0).shape;
  const auto size = [&](size_t axis) {
    return y && (*y)[axis].known() ? (*y)[axis].value() : int64_t{1} << 10;
  };
  const int64_t tiles = CeilDiv(size(1), kTile) * CeilDiv(size(2), kTile);
  const bool pairs = dtype == DType::kBFloat16;
  const auto c = static_cast<double>(channels), f = static_cast<double>(filters);
  const auto pixels = static_cast<double>(size(1) * size(2));
  if (channels < kLeastChannels || kFrequencies * channels * filters > kFilterFloats ||
      CostOfProducts(pairs, pixels, c, f) < CostOfTiles(pairs, static_cast<double>(tiles), c, f))
    return absl::UnimplementedError("sums of products take less time for these sizes");
  ONWARD_ASSIGN_OR_RETURN(const ActivationSpec activation, ParseActivation(spec));
  if (spec.only_asks()) return nullptr;
  const Target target = TargetOf(spec);
  ONWARD_ASSIGN_OR_RETURN(Tensor packed, PackFilters(target, *w));
  spec.ReleaseConstant(1);
  return std::make_unique<LastWinogradConv>(target, std::move(attributes), activation,
                                            std::move(packed));
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeFloatWinograd(const NodeSpec& spec) {
  if (spec.options().precision == Precision::kStrict)
    return absl::UnimplementedError("not in strict arithmetic");
  return MakeWinograd(spec, DType::kFloat32);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeBf16Winograd(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckBf16Products(spec));
  if ((AllowedTargets() & spec.options().cpu_targets & MaskOf(Target::kAmx)) != 0)
    return absl::UnimplementedError("tiles of AMX multiply all pairs sooner");
  return MakeWinograd(spec, DType::kBFloat16);
}

constexpr KernelEntry kKernels[] = {
    {"onward", "ChannelsLastFusedConv", "channels_last_winograd", MakeFloatWinograd,
     kVectorTargets},
    {"onward", "ChannelsLastFusedConv", "channels_last_winograd_bf16", MakeBf16Winograd,
     MaskOf(Target::kAvx512Bf16)},
};

}  // namespace

KernelList ChannelsLastWinogradKernels() { return kKernels; }

}  // namespace onward::kernels::cpu
