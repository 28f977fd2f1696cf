// onward.ChannelsLastFusedConv with constant weights: windows over an image with its channels last,
// times filters along the vectors. Tiles read the image as it lies; only where there is padding, or
// X comes with its channels first, a chunk copies the rows that it reads.
#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/cpu/channels_last_filters.h"
#include "kernels/cpu/channels_last_plan.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/simd/channels_last_loops.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kMostSkippedRuns = 64;  // PixelSegment::runs has a bit for each

// Pixels of an image of a group's channels, which come last or as float32 first.
class FloatPixels {
 public:
  FloatPixels(const ChannelsLastLoops& loops, const ChannelsLast& shape, const void* image,
              int64_t channels)
      : loops_(loops), shape_(shape), image_(image), channels_(channels) {}

  void Pad(int64_t count, char* to) const {
    if (count > 0) std::memset(to, 0, static_cast<size_t>(count * shape_.pixel_bytes()));
  }
  void Copy(int64_t pixel, int64_t count, char* to) const {
    const int64_t from_pixel = shape_.from_channels * shape_.element_bytes;
    const char* from = static_cast<const char*>(image_) + pixel * from_pixel;
    if (shape_.column_step == 1 && shape_.channels == shape_.from_channels) {
      std::memcpy(to, from, static_cast<size_t>(count * shape_.pixel_bytes()));
      return;
    }
    const auto bytes = static_cast<size_t>(channels_ * shape_.element_bytes);
    const auto padding = static_cast<size_t>(shape_.pixel_bytes()) - bytes;
    for (; count > 0; --count, from += shape_.column_step * from_pixel) {
      std::memcpy(to, from, bytes);
      if (padding > 0) std::memset(to + bytes, 0, padding);
      to += shape_.pixel_bytes();
    }
  }
  void Turn(int64_t pixel, int64_t count, char* to) const {
    const float* from = static_cast<const float*>(image_) + pixel;
    const int64_t plane = shape_.in_h * shape_.in_w;
    const int64_t together = shape_.column_step == 1 ? count : 1;
    for (int64_t p = 0; p < count; p += together, from += shape_.column_step) {
      loops_.to_last(from, plane, channels_, together, to + p * shape_.pixel_bytes(),
                     shape_.channels);
    }
  }

 private:
  const ChannelsLastLoops& loops_;
  const ChannelsLast& shape_;
  const void* image_;
  const int64_t channels_;  // fewer than those of the shape where they are not whole units
};

struct FloatConvPlan : ChannelsLastPlan {
  // Bytes from the start of a worker's part of scratch.
  int64_t band, segments, worker_runs, worker_bytes;
  bool x_last;
  int64_t x_channels;  // of a group
  int64_t tile_rows;   // windows of a tile
  bool skips_runs;     // PanelProduct::skips_runs
};

class ChannelsLastConvolution : public Kernel {
 public:
  ChannelsLastConvolution(const ChannelsLastProducts& products, const ChannelsLastLoops& loops,
                          ConvAttributes attributes, ActivationSpec activation,
                          ChannelsLastForm form, Tensor filters)
      : products_(products),
        loops_(loops),
        attributes_(std::move(attributes)),
        activation_(activation),
        form_(form),
        filters_(std::move(filters)) {}

  absl::Status Bind(BindContext& context) const override;
  absl::Status Run(RunContext& context) const override;

 private:
  const char* Windows(const RunContext& context, const FloatConvPlan& s, int64_t image,
                      int64_t group, const ChannelsLastPlan::Band& band, char* own) const;
  void PlaceSegments(const FloatConvPlan& s, const char* windows,
                     const ChannelsLastPlan::Band& band, int64_t pixel, int64_t count,
                     PixelSegment* segments, PanelProduct& product) const;
  void RunChunk(const RunContext& context, const FloatConvPlan& s, int64_t chunk, char* own) const;

  const ChannelsLastProducts& products_;
  const ChannelsLastLoops& loops_;
  const ConvAttributes attributes_;
  const ActivationSpec activation_;
  const ChannelsLastForm form_;
  const Tensor filters_;
};

absl::Status ChannelsLastConvolution::Bind(BindContext& context) const {
  const DimsView given = context.input_dims(0);
  if (given.size() != 4) return absl::InvalidArgumentError("X has not two spatial axes");
  Dims x(given.begin(), given.end());
  if (form_.x_last) x = {given[0], given[3], given[1], given[2]};
  const DimsView bias = context.has_input(2) ? context.input_dims(2) : DimsView();
  ONWARD_ASSIGN_OR_RETURN(const ConvGeometry g, ConvDims(attributes_, x, context.input_dims(1),
                                                         context.has_input(2) ? &bias : nullptr));
  const Dims y = {g.output[0], g.output[2], g.output[3], g.output[1]};
  ONWARD_RETURN_IF_ERROR(CheckResidual(context, y));
  context.SetOutput(0, y);
  if (context.has_input(3)) context.AllowInPlace(0, 3);
  auto* s = context.NewState<FloatConvPlan>();
  const int64_t channels = g.channels / g.group;
  const bool depthwise = form_.filters == FilterForm::kDepthwise;
  ChannelsLastPlan& plan = *s;
  plan =
      PlanChannelsLast(products_.sizes, g,
                       depthwise ? 1 : ChannelsOfUnits(products_.sizes, channels), form_, context);
  s->x_last = form_.x_last;
  s->x_channels = depthwise ? g.channels : channels;
  s->skips_runs = form_.skips_padding && !s->in_place && s->line == s->out_w;
  int64_t size = 0;
  const auto reserve = [&](int64_t bytes) {
    const int64_t at = size;
    size += CeilDiv(bytes, 64) * 64;
    return at;
  };
  s->band = reserve(s->band_bytes());
  const int64_t line = std::max<int64_t>(1, std::min(s->line, s->pixels_per_chunk));
  s->tile_rows = products_.sizes.tile_rows;
  // A tile of registers reads a line of each window at once.
  if (products_.step_units == 1)
    s->tile_rows = MostRowsOfTile(products_.sizes.tile_rows, s->pixel_columns * s->pixel_bytes / 4);
  s->segments = reserve(CeilDiv(s->pixels_per_chunk, line) * CeilDiv(line, s->tile_rows) *
                        static_cast<int64_t>(sizeof(PixelSegment)));
  s->worker_runs = reserve(static_cast<int64_t>(s->runs.size()) * 8);
  s->worker_bytes = size;
  context.SetScratch(s->worker_bytes * context.num_workers());
  return absl::OkStatus();
}

// Returns where the windows lie: in the image or, with padding, in a band of it.
const char* ChannelsLastConvolution::Windows(const RunContext& context, const FloatConvPlan& s,
                                             int64_t image, int64_t group,
                                             const ChannelsLastPlan::Band& band, char* own) const {
  const ChannelsLast& shape = s.image;
  const int64_t plane = shape.in_h * shape.in_w, element = s.x_last ? shape.element_bytes : 4;
  const int64_t before =
      image * shape.from_channels * plane + group * s.x_channels * (s.x_last ? 1 : plane);
  const char* from = context.in<char>(0) + before * element;
  if (s.in_place) return from;
  const FloatPixels pixels(loops_, shape, from, s.x_channels);
  char* to = own + s.band;
  for (int64_t row = band.row; row < band.row + band.rows; ++row) {
    const bool is_read = !s.skips_runs || s.IsInImage(row);
    if (is_read) FillRow(shape, pixels, row, band.column, band.column + band.columns, to);
    to += band.columns * s.pixel_bytes;
  }
  return own + s.band;
}

// Cuts the lines of a chunk into even segments; the last of a line may overlap the one before.
void ChannelsLastConvolution::PlaceSegments(const FloatConvPlan& s, const char* windows,
                                            const ChannelsLastPlan::Band& band, int64_t pixel,
                                            int64_t count, PixelSegment* segments,
                                            PanelProduct& product) const {
  const int64_t line = std::min(s.line, count);
  const int64_t each = EvenPiece(line, s.tile_rows);
  product.segments = segments;
  product.num_segments = 0;
  product.segment_pixels = static_cast<int>(each);
  product.pixel_bytes = s.pixel_columns * s.pixel_bytes;
  for (int64_t begin = 0; begin < count; begin += line) {
    for (int64_t at = 0; at < line; at += each) {
      const int64_t first = std::min(at, line - each), p = pixel + begin + first;
      const char* from = windows + (p / s.out_w * s.pixel_rows - band.row) * s.row_bytes +
                         (p % s.out_w * s.pixel_columns - band.column) * s.pixel_bytes;
      segments[product.num_segments++] = {from, begin + first, static_cast<int>(at - first),
                                          s.skips_runs ? s.RunsInImage(p, each) : 0};
    }
  }
}

void ChannelsLastConvolution::RunChunk(const RunContext& context, const FloatConvPlan& s,
                                       int64_t chunk, char* own) const {
  const int64_t image = chunk / s.panel_chunks / s.pixel_chunks;  // of images x groups
  const int64_t group = image % s.groups;
  const int64_t pixel = chunk / s.panel_chunks % s.pixel_chunks * s.pixels_per_chunk;
  const int64_t pixels = std::min(s.pixels_per_chunk, s.n - pixel);
  const int64_t first = chunk % s.panel_chunks * s.panels_per_chunk;
  const int64_t end = std::min(s.panels, first + s.panels_per_chunk);
  const ChannelsLastPlan::Band band =
      s.in_place ? ChannelsLastPlan::Band() : s.BandOf(pixel, pixels);
  const char* windows = Windows(context, s, image / s.groups, group, band, own);
  PanelProduct product;
  PlaceSegments(s, windows, band, pixel, pixels, reinterpret_cast<PixelSegment*>(own + s.segments),
                product);
  const PanelUnits units = UnitsOfPanel(products_, s.run_elements);
  product.runs = s.runs.data(), product.num_runs = static_cast<int64_t>(s.runs.size());
  product.row_runs = s.row_runs, product.skips_runs = s.skips_runs;
  product.units = units.padded, product.last_unit = units.last;
  product.activation = activation_;
  const int64_t width = products_.sizes.tile_cols, all_filters = s.groups * s.filters;
  const int64_t element = products_.sizes.element_bytes;
  const int64_t panel_floats = product.num_runs * (s.depthwise ? 1 : product.units) * width;
  product.y_pixel = all_filters;
  const int64_t tiles = CeilDiv(product.num_segments, products_.segments);
  for (int64_t panel = first; panel < end; ++panel) {
    const int64_t filter = group * s.filters + panel * width;
    const float* weights = filters_.data<float>() + (group * s.panels + panel) * panel_floats;
    product.panel = weights;
    product.cols = static_cast<int>(std::min(width, s.filters - panel * width));
    if (context.has_input(2)) product.bias = context.in<float>(2) + filter;
    const int64_t at = ((image / s.groups * s.n + pixel) * all_filters + filter) * element;
    if (context.has_input(3)) product.residual = context.in<char>(3) + at;
    product.y = context.out<char>(0) + at;
    if (!s.depthwise) {
      const char* next =
          panel + 1 < end ? reinterpret_cast<const char*>(weights + panel_floats) : nullptr;
      product.fetch.TakePart(next, 4 * panel_floats, 0, tiles, product.units * product.num_runs);
      products_.multiply(product);
      continue;
    }
    product.runs =
        s.MoveRuns(panel * width * element, reinterpret_cast<int64_t*>(own + s.worker_runs));
    products_.depthwise(product);
  }
}

absl::Status ChannelsLastConvolution::Run(RunContext& context) const {
  const auto& s = context.state<FloatConvPlan>();
  if (context.output(0).num_elements() == 0) return absl::OkStatus();
  context.ParallelForWorkers(s.images * s.groups * s.pixel_chunks * s.panel_chunks, 1,
                             [&](int worker, int64_t begin, int64_t end) {
                               char* own = context.scratch<char>() + worker * s.worker_bytes;
                               for (int64_t i = begin; i < end; ++i) RunChunk(context, s, i, own);
                             });
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeConv(const NodeSpec& spec) {
  const Tensor* w = spec.constant(1);
  if (w == nullptr || w->rank() != 4 || w->num_elements() == 0)
    return absl::UnimplementedError("constant weights with two spatial axes only");
  ONWARD_ASSIGN_OR_RETURN(ConvAttributes attributes, ConvAttributes::Parse(spec));
  ONWARD_ASSIGN_OR_RETURN(const ActivationSpec activation, ParseActivation(spec));
  const int64_t groups = attributes.group;
  if (groups < 1 || w->dims()[0] % groups != 0)
    return absl::UnimplementedError("as many filters in each group only");
  const Dims& dilations = attributes.window.dilations;
  const bool has_gaps = !dilations.empty() && dilations.back() > 1;
  const int64_t channels = w->dims()[1];
  ChannelsLastForm form;
  form.x_last = spec.input_dtype(0) == spec.output_type(0).dtype;
  form.y_last = form.whole_lines = form.skips_padding = true;
  form.filters = groups == 1 && !has_gaps ? FilterForm::kRows : FilterForm::kTaps;
  if (groups > 1 && w->dims()[0] == groups && channels == 1) form.filters = FilterForm::kDepthwise;
  if (form.filters == FilterForm::kDepthwise || NumElements(w->dims(), 2, 4) > kMostSkippedRuns)
    form.skips_padding = false;
  const Target target = TargetOf(spec);
  const ChannelsLastProducts& products = kLastProductsPerTarget.For(target)();
  form.x_fits = form.filters == FilterForm::kDepthwise ||
                ChannelsOfUnits(products.sizes, channels) == channels;
  if (spec.only_asks()) return nullptr;
  ONWARD_ASSIGN_OR_RETURN(Tensor filters,
                          PackChannelsLastFilters(products, target, *w, groups, form.filters));
  spec.ReleaseConstant(1);
  return std::make_unique<ChannelsLastConvolution>(products, kLastLoopsPerTarget.For(target)(),
                                                   std::move(attributes), activation, form,
                                                   std::move(filters));
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeFloatConv(const NodeSpec& spec) {
  if (spec.output_type(0).dtype != DType::kFloat32) return absl::UnimplementedError("float32 only");
  return MakeConv(spec);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeBf16Conv(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckBf16Products(spec));
  if (spec.output_type(0).dtype != DType::kBFloat16)
    return absl::UnimplementedError("bfloat16 only");
  return MakeConv(spec);
}

constexpr KernelEntry kKernels[] = {
    {"onward", "ChannelsLastFusedConv", "channels_last_conv", MakeFloatConv, kVectorTargets},
    {"onward", "ChannelsLastFusedConv", "channels_last_conv_bf16", MakeBf16Conv, kBf16Targets},
};

}  // namespace

KernelList ChannelsLastConvKernels() { return kKernels; }

}  // namespace onward::kernels::cpu
