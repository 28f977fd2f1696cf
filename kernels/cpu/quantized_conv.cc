// QLinearConv, onward.ChannelsLastConv and ConvInteger with constant weights: windows over the
// image, with its channels last, times filters along the vectors, on the tiles of one instruction
// set.
#include <algorithm>
#include <utility>

#include "kernels/cpu/byte_pixels.h"
#include "kernels/cpu/channels_last_plan.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/int8_pack.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/quantized_counts.h"
#include "kernels/cpu/quantized_filters.h"
#include "kernels/cpu/reference/requantize.h"
#include "kernels/cpu/transpose_bytes.h"

namespace onward::kernels::cpu {
namespace {

// Which input holds what; -1 for none.
struct Inputs {
  bool quantized;
  int w, x_zero, w_zero, x_scale, w_scale, y_scale, y_zero, bias;
};
// Bytes from the start of scratch, and from that of a worker's part.
struct QuantizedConvPlan : ChannelsLastPlan {
  int64_t col_add, col_mul, col_scale, workers;
  int64_t band, rows, row_sums, worker_runs, results, worker_bytes;
};

constexpr Inputs kConvInteger = {false, 1, 2, 3, -1, -1, -1, -1, -1};
constexpr Inputs kQLinearConv = {true, 3, 2, 5, 1, 4, 6, 7, 8};

class Int8Conv : public Kernel {
 public:
  Int8Conv(const Int8TileKernels& tiles, const Inputs& inputs, ConvAttributes attributes, DType x,
           DType w, ChannelsLastForm form, PackedFilters packed)
      : tiles_(tiles),
        inputs_(inputs),
        attributes_(std::move(attributes)),
        x_dtype_(x),
        w_dtype_(w),
        x_shifted_(IsShifted(tiles, x, true)),
        w_shifted_(IsShifted(tiles, w, false)),
        form_(form),
        packed_(std::move(packed)) {}

  absl::Status Bind(BindContext& context) const override;
  absl::Status Run(RunContext& context) const override;

 private:
  void PrepareFilters(const RunContext& context, const QuantizedConvPlan& s, Int8Finish& f) const;
  void FillBand(const RunContext& context, const QuantizedConvPlan& s, int64_t image, int64_t group,
                const ChannelsLastPlan::Band& band, char* own) const;
  void PlaceRows(const RunContext& context, const QuantizedConvPlan& s, int64_t image,
                 int64_t group, int64_t pixel, int64_t count, char* own) const;
  void SumRows(const QuantizedConvPlan& s, const void* const* rows, int64_t count,
               int32_t* sums) const;
  void RunChunk(const RunContext& context, const QuantizedConvPlan& s, int64_t chunk,
                const Int8Finish& all, char* own) const;
  void Store(const RunContext& context, const QuantizedConvPlan& s, const char* results,
             int64_t pixels, int cols, int64_t to) const;

  const Int8TileKernels& tiles_;
  const Inputs& inputs_;
  ConvAttributes attributes_;
  DType x_dtype_, w_dtype_;
  bool x_shifted_, w_shifted_;
  ChannelsLastForm form_;
  PackedFilters packed_;
};

absl::Status Int8Conv::Bind(BindContext& context) const {
  const bool has_bias = inputs_.bias >= 0 && context.has_input(inputs_.bias);
  const DimsView bias = has_bias ? context.input_dims(inputs_.bias) : DimsView();
  Dims x(context.input_dims(0).begin(), context.input_dims(0).end());
  if (form_.x_last && x.size() == 4) x = {x[0], x[3], x[1], x[2]};
  ONWARD_ASSIGN_OR_RETURN(
      const ConvGeometry g,
      ConvDims(attributes_, x, context.input_dims(inputs_.w), has_bias ? &bias : nullptr));
  ONWARD_RETURN_IF_ERROR(
      CheckOneElement(context, {inputs_.x_zero, inputs_.x_scale, inputs_.y_scale, inputs_.y_zero}));
  ONWARD_RETURN_IF_ERROR(CheckOneOrEach(context, {inputs_.w_zero, inputs_.w_scale}, g.filters));
  const Dims& y = g.output;
  context.SetOutput(0, form_.y_last ? Dims{y[0], y[2], y[3], y[1]} : y);
  auto* s = context.NewState<QuantizedConvPlan>();
  ChannelsLastPlan& plan = *s;
  plan = PlanChannelsLast(tiles_.sizes(), g, g.channels / g.group, form_, context);
  int64_t size = 0;
  const auto reserve = [&](int64_t bytes) {
    const int64_t at = size;
    size += CeilDiv(bytes, 64) * 64;
    return at;
  };
  s->col_add = reserve(g.filters * 4);
  s->col_mul = reserve(g.filters * 4);
  s->col_scale = reserve(g.filters * 4);
  s->workers = size;
  size = 0;
  s->band = reserve(s->band_bytes());
  s->rows = reserve(s->pixels_per_chunk * static_cast<int64_t>(sizeof(void*)));
  s->row_sums = reserve(s->pixels_per_chunk * 4);
  s->worker_runs = reserve(static_cast<int64_t>(s->runs.size()) * 8);
  s->results =
      reserve(std::max(BytePixels::line_bytes(s->image),
                       s->pixels_per_chunk * tiles_.tile_cols * (inputs_.quantized ? 1 : 4)));
  s->worker_bytes = size;
  context.SetScratch(s->workers + s->worker_bytes * context.num_workers());
  return absl::OkStatus();
}

// Fills a band of the channels of a group.
void Int8Conv::FillBand(const RunContext& context, const QuantizedConvPlan& s, int64_t image,
                        int64_t group, const ChannelsLastPlan::Band& band, char* own) const {
  const ChannelsLast& shape = s.image;
  const auto padding =
      static_cast<uint8_t>(LineValues<int32_t>(OptionalInput(context, inputs_.x_zero))[0]);
  const int64_t plane = shape.in_h * shape.in_w;
  const int64_t before = group * s.channels * (shape.comes_last ? 1 : plane);
  const ByteSource from = {context.in<uint8_t>(0) + image * shape.from_channels * plane + before,
                           x_dtype_ == DType::kInt8, x_shifted_};
  char* to = own + s.band;
  const BytePixels pixels(shape, from, padding, reinterpret_cast<uint8_t*>(own + s.results));
  for (int64_t row = band.row; row < band.row + band.rows; ++row) {
    FillRow(shape, pixels, row, band.column, band.column + band.columns, to);
    to += band.columns * s.pixel_bytes;
  }
}

// c = sums - w_zero (rowsum - k x_zero) - x_zero colsum + bias. Sums of rows are needed where there
// is a col_mul.
void Int8Conv::PrepareFilters(const RunContext& context, const QuantizedConvPlan& s,
                              Int8Finish& f) const {
  char* scratch = context.scratch<char>();
  const int64_t filters = s.filters * s.groups;
  const int32_t x_shift = ZeroShift(x_dtype_, x_shifted_);
  const int32_t w_shift = ZeroShift(w_dtype_, w_shifted_);
  const auto x_zero = static_cast<uint32_t>(
      LineValues<int32_t>(OptionalInput(context, inputs_.x_zero))[0] + x_shift);
  const LineValues<int32_t> w_zeros(OptionalInput(context, inputs_.w_zero));
  const bool has_bias = inputs_.bias >= 0 && context.has_input(inputs_.bias);
  int32_t* add = reinterpret_cast<int32_t*>(scratch + s.col_add);
  int32_t* mul = reinterpret_cast<int32_t*>(scratch + s.col_mul);
  const int32_t* sums = packed_.sums.data<int32_t>();
  bool needs_sums = false;
  for (int64_t i = 0; i < filters; ++i) {
    const int32_t w_zero = s.depthwise ? 0 : w_zeros[i] + w_shift;  // packed without
    mul[i] = -w_zero;
    needs_sums |= w_zero != 0;
    const uint32_t constant = static_cast<uint32_t>(s.k) * static_cast<uint32_t>(w_zero) * x_zero;
    const uint32_t bias =
        has_bias ? static_cast<uint32_t>(context.in<int32_t>(inputs_.bias)[i]) : 0;
    add[i] = static_cast<int32_t>(bias + constant - x_zero * static_cast<uint32_t>(sums[i]));
  }
  f.col_add = add;
  if (needs_sums) f.col_mul = mul;
  if (!inputs_.quantized) return;
  const float x_scale = *context.in<float>(inputs_.x_scale);
  const float y_scale = *context.in<float>(inputs_.y_scale);
  const LineValues<float> w_scales(context.input(inputs_.w_scale));
  float* scales = reinterpret_cast<float*>(scratch + s.col_scale);
  for (int64_t i = 0; i < filters; ++i) scales[i] = x_scale * w_scales[i] / y_scale;
  f.col_scale = scales;
  const bool is_signed = context.output(0).dtype == DType::kInt8;
  f.zero = LineValues<float>(context.input(inputs_.y_zero))[0];
  f.low = is_signed ? -128.0f : 0.0f;
  f.high = is_signed ? 127.0f : 255.0f;
}

// Finds where the windows of pixels lie, in the image or in a band of it.
void Int8Conv::PlaceRows(const RunContext& context, const QuantizedConvPlan& s, int64_t image,
                         int64_t group, int64_t pixel, int64_t count, char* own) const {
  const char* from = own + s.band;
  ChannelsLastPlan::Band band;
  if (s.in_place) {
    from = context.in<char>(0) + image * s.image.in_h * s.row_bytes +
           group * s.channels * s.image.element_bytes;
  } else {
    band = s.BandOf(pixel, count);
    FillBand(context, s, image, group, band, own);
  }
  s.PlaceRows(from, band, pixel, count, reinterpret_cast<const void**>(own + s.rows));
}

void Int8Conv::SumRows(const QuantizedConvPlan& s, const void* const* rows, int64_t count,
                       int32_t* sums) const {
  for (int64_t i = 0; i < count; ++i) {
    int32_t sum = 0;
    for (const int64_t run : s.runs) {
      const char* from = static_cast<const char*>(rows[i]) + run;
      if (tiles_.element_bytes == 1) {
        const uint8_t* elements = reinterpret_cast<const uint8_t*>(from);
        for (int64_t e = 0; e < s.run_elements; ++e) sum += elements[e];
      } else {
        const int16_t* elements = reinterpret_cast<const int16_t*>(from);
        for (int64_t e = 0; e < s.run_elements; ++e) sum += elements[e];
      }
    }
    sums[i] = sum;
  }
}

// The results of a panel have filters side by side, the output has pixels.
void Int8Conv::Store(const RunContext& context, const QuantizedConvPlan& s, const char* results,
                     int64_t pixels, int cols, int64_t to) const {
  if (inputs_.quantized) {
    TransposeBytes(reinterpret_cast<const uint8_t*>(results), tiles_.tile_cols, pixels, cols, 0,
                   context.out<uint8_t>(0) + to, s.n);
    return;
  }
  const int32_t* from = reinterpret_cast<const int32_t*>(results);
  for (int c = 0; c < cols; ++c) {
    int32_t* line = context.out<int32_t>(0) + to + c * s.n;
    for (int64_t p = 0; p < pixels; ++p) line[p] = from[p * tiles_.tile_cols + c];
  }
}

void Int8Conv::RunChunk(const RunContext& context, const QuantizedConvPlan& s, int64_t chunk,
                        const Int8Finish& all, char* own) const {
  const int64_t image = chunk / s.panel_chunks / s.pixel_chunks;  // of images x groups
  const int64_t group = image % s.groups;
  const int64_t pixel = chunk / s.panel_chunks % s.pixel_chunks * s.pixels_per_chunk;
  const int64_t pixels = std::min(s.pixels_per_chunk, s.n - pixel);
  const int64_t first = chunk % s.panel_chunks * s.panels_per_chunk;
  const int64_t end = std::min(s.panels, first + s.panels_per_chunk);
  const void** rows = reinterpret_cast<const void**>(own + s.rows);
  int32_t* row_sums = reinterpret_cast<int32_t*>(own + s.row_sums);
  int64_t* runs = reinterpret_cast<int64_t*>(own + s.worker_runs);
  PlaceRows(context, s, image / s.groups, group, pixel, pixels, own);
  if (all.col_mul != nullptr) SumRows(s, rows, pixels, row_sums);
  RunProduct product;
  product.runs = s.runs.data(), product.num_runs = static_cast<int64_t>(s.runs.size());
  product.units = UnitsOf(tiles_, s.run_elements);
  const int64_t width = tiles_.tile_cols;
  const int64_t panel_bytes =
      product.num_runs * (s.depthwise ? width * 4 : PackedPanelBytes(tiles_, s.run_elements));
  const auto tile = s.depthwise ? tiles_.depthwise : tiles_.tile;
  alignas(64) int32_t sums[kMostInt8Sums];
  for (int64_t panel = first; panel < end; ++panel) {
    const int64_t filter = group * s.filters + panel * width;
    const int cols = static_cast<int>(std::min(width, s.filters - panel * width));
    product.panel = packed_.panels.data<uint8_t>() + (group * s.panels + panel) * panel_bytes;
    if (s.depthwise) product.runs = s.MoveRuns(panel * width * tiles_.element_bytes, runs);
    Int8Finish f = all;
    f.col_add += filter;
    if (f.col_mul != nullptr) f.col_mul += filter;
    if (f.col_scale != nullptr) f.col_scale += filter;
    const char* next = !s.depthwise && panel + 1 < s.panels
                           ? static_cast<const char*>(product.panel) + panel_bytes
                           : nullptr;
    for (int64_t p = 0; p < pixels; p += tiles_.tile_rows) {
      product.fetch.TakePart(next, panel_bytes, p / tiles_.tile_rows,
                             CeilDiv(pixels, tiles_.tile_rows), product.units * product.num_runs);
      product.rows = rows + p;
      product.num_rows = static_cast<int>(std::min<int64_t>(tiles_.tile_rows, pixels - p));
      tile(product, sums);
      f.row_mul = row_sums + p;
      char* results = own + s.results + p * width * (inputs_.quantized ? 1 : 4);
      if (s.y_last) {
        const int64_t all_filters = s.groups * s.filters;
        tiles_.finish_byte(
            sums, product.num_rows, cols, f,
            context.out<uint8_t>(0) + (image / s.groups * s.n + pixel + p) * all_filters + filter,
            all_filters);
      } else if (inputs_.quantized) {
        tiles_.finish_byte(sums, product.num_rows, cols, f, reinterpret_cast<uint8_t*>(results),
                           width);
      } else {
        tiles_.finish_int32(sums, product.num_rows, cols, f, reinterpret_cast<int32_t*>(results),
                            width);
      }
    }
    if (s.y_last) continue;
    Store(context, s, own + s.results, pixels, cols,
          (image * s.filters + panel * width) * s.n + pixel);
  }
}

absl::Status Int8Conv::Run(RunContext& context) const {
  const QuantizedConvPlan& s = context.state<QuantizedConvPlan>();
  if (context.output(0).num_elements() == 0) return absl::OkStatus();
  Int8Finish finish;
  PrepareFilters(context, s, finish);
  char* scratch = context.scratch<char>();
  context.ParallelForWorkers(s.images * s.groups * s.pixel_chunks * s.panel_chunks, 1,
                             [&](int worker, int64_t begin, int64_t end) {
                               char* own = scratch + s.workers + worker * s.worker_bytes;
                               for (int64_t i = begin; i < end; ++i)
                                 RunChunk(context, s, i, finish, own);
                             });
  return absl::OkStatus();
}

template <const Inputs& kInputs>
absl::StatusOr<std::unique_ptr<Kernel>> MakeInt8Conv(const NodeSpec& spec) {
  for (const int i : {0, kInputs.w}) {
    const DType dtype = spec.input_dtype(i);
    if (dtype != DType::kInt8 && dtype != DType::kUint8)
      return absl::UnimplementedError("8-bit integers only");
  }
  const Tensor* w = spec.constant(kInputs.w);
  if (w == nullptr || w->rank() < 3 || w->rank() > 4 || w->num_elements() == 0)
    return absl::UnimplementedError("constant weights with one or two spatial axes only");
  ONWARD_ASSIGN_OR_RETURN(ConvAttributes attributes, ConvAttributes::Parse(spec));
  const Int8TileKernels& tiles = kInt8TilesPerTarget.For(TargetOf(spec))();
  const int64_t groups = attributes.group;
  if (groups < 1 || w->dims()[0] % groups != 0)
    return absl::UnimplementedError("as many filters in each group only");
  const Dims& dilations = attributes.window.dilations;
  const bool has_gaps = !dilations.empty() && dilations.back() > 1;
  ChannelsLastForm form;
  form.filters = groups == 1 && !has_gaps ? FilterForm::kRows : FilterForm::kTaps;
  form.x_last = spec.attributes().Int("x_channels_last", 0) != 0;
  form.y_last = spec.attributes().Int("y_channels_last", 0) != 0;
  form.x_fits = tiles.element_bytes == 1 && !IsShifted(tiles, spec.input_dtype(0), true);
  if ((form.x_last || form.y_last) && w->rank() != 4)
    return absl::UnimplementedError("two spatial axes only");
  if (spec.only_asks()) return nullptr;
  PackedFilters packed;
  const Tensor* zeros = spec.has_input(kInputs.w_zero) ? spec.constant(kInputs.w_zero) : nullptr;
  if (groups > 1 && w->dims()[0] == groups && w->dims()[1] == 1 &&
      (zeros != nullptr || !spec.has_input(kInputs.w_zero))) {
    form.filters = FilterForm::kDepthwise;
    ONWARD_ASSIGN_OR_RETURN(packed, PackDepthwise(tiles, *w, zeros));
  } else {
    ONWARD_ASSIGN_OR_RETURN(packed, PackFilters(tiles, *w, groups, form.filters));
  }
  spec.ReleaseConstant(kInputs.w);
  return std::make_unique<Int8Conv>(tiles, kInputs, std::move(attributes), spec.input_dtype(0),
                                    w->dtype(), form, std::move(packed));
}

constexpr KernelEntry kKernels[] = {
    {"onward", "ChannelsLastConv", "channels_last_conv", MakeInt8Conv<kQLinearConv>, kInt8Targets},
    {"", "ConvInteger", "conv_integer", MakeInt8Conv<kConvInteger>, kInt8Targets},
    {"", "QLinearConv", "qlinear_conv", MakeInt8Conv<kQLinearConv>, kInt8Targets},
};

}  // namespace

KernelList QuantizedConvKernels() { return kKernels; }

}  // namespace onward::kernels::cpu
