// QLinearConv and ConvInteger with constant weights: filters times patches of the image, on the
// tiles of one instruction set.
#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/conv_plan.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/int8_pack.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/reference/requantize.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kMostColumns = 32;         // of a tile; bytes that are copied as one
constexpr int64_t kSlack = 64;               // bytes after planes and lines, for such copies
constexpr int64_t kPatchBytes = 256 * 1024;  // packed patches of a chunk: a part of the cache
constexpr int64_t kMostPanels = 8;
constexpr int64_t kFewChunks = 4;  // below, chunks share the filters
constexpr int64_t kFiltersPerChunk = 96;

// Which input holds what; -1 for none.
struct Inputs {
  bool quantized;
  int w, x_zero, w_zero, x_scale, w_scale, y_scale, y_zero, bias;
};
constexpr Inputs kConvInteger = {false, 1, 2, 3, -1, -1, -1, -1, -1};
constexpr Inputs kQLinearConv = {true, 3, 2, 5, 1, 4, 6, 7, 8};

struct PackedFilters {
  Tensor rows;  // uint8, [filter]
  Tensor sums;  // int32
};

struct ConvState {
  PatchWindow window;
  absl::Span<const int64_t> taps;                   // their offsets in the planes of a channel
  int64_t images, groups, channels, filters, n, k;  // channels and filters: of one group
  bool pointwise;
  int64_t channel_bytes;  // of the image
  int64_t plane_bytes;    // of one channel as planes
  int64_t panels, panels_per_chunk, panel_chunks, filter_chunks, filters_per_chunk;
  // Bytes from the start of scratch.
  int64_t planes, row_add, row_mul, row_scale, workers;
  int64_t lines, sums, worker_bytes;  // within a worker's part: after its panels
};

class Int8Conv : public Kernel {
 public:
  Int8Conv(const Int8TileKernels& tiles, const Inputs& inputs, ConvAttributes attributes, DType x,
           DType w, PackedFilters packed)
      : tiles_(tiles),
        inputs_(inputs),
        attributes_(std::move(attributes)),
        x_dtype_(x),
        w_dtype_(w),
        x_shifted_(IsShifted(tiles, x, true)),
        w_shifted_(IsShifted(tiles, w, false)),
        packed_(std::move(packed)) {}

  absl::Status Bind(BindContext& context) const override;
  absl::Status Run(RunContext& context) const override;

 private:
  absl::Status CheckCounts(const BindContext& context, int64_t filters) const;
  void Cut(ConvState& s) const;
  bool PrepareFilters(const RunContext& context, const ConvState& s, Int8Finish& f) const;
  void PackPanel(const RunContext& context, const ConvState& s, int64_t image, int64_t panel,
                 uint8_t* lines, void* to, int32_t* sums) const;
  void RunChunk(const RunContext& context, const ConvState& s, int64_t chunk, const Int8Finish& all,
                bool needs_sums, char* own) const;

  const Int8TileKernels& tiles_;
  const Inputs& inputs_;
  ConvAttributes attributes_;
  DType x_dtype_, w_dtype_;
  bool x_shifted_, w_shifted_;
  PackedFilters packed_;
};

absl::Status Int8Conv::CheckCounts(const BindContext& context, int64_t filters) const {
  for (const int i : {inputs_.x_zero, inputs_.x_scale, inputs_.y_scale, inputs_.y_zero}) {
    if (i < 0 || !context.has_input(i) || NumElements(context.input_dims(i)) == 1) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "input ", i, " has shape ", DimsString(context.input_dims(i)), ", must have one element"));
  }
  for (const int i : {inputs_.w_zero, inputs_.w_scale}) {
    if (i < 0 || !context.has_input(i)) continue;
    const int64_t count = NumElements(context.input_dims(i));
    if (count == 1 || count == filters) continue;
    return absl::InvalidArgumentError(absl::StrCat("input ", i, " has shape ",
                                                   DimsString(context.input_dims(i)),
                                                   ", must have 1 or ", filters, " elements"));
  }
  return absl::OkStatus();
}

void Int8Conv::Cut(ConvState& s) const {
  s.panels = CeilDiv(s.n, tiles_.tile_cols);
  const int64_t panel_bytes = std::max<int64_t>(1, PackedPanelBytes(tiles_, s.k));
  const int64_t most = std::clamp<int64_t>(kPatchBytes / panel_bytes, 1, kMostPanels);
  s.panels_per_chunk = EvenPiece(s.panels, most);
  s.panel_chunks = CeilDiv(s.panels, s.panels_per_chunk);
  s.filter_chunks = 1;
  if (s.images * s.groups * s.panel_chunks < kFewChunks)
    s.filter_chunks = std::clamp<int64_t>(s.filters / kFiltersPerChunk, 1, kFewChunks);
  s.filters_per_chunk =
      CeilDiv(CeilDiv(s.filters, s.filter_chunks), tiles_.tile_rows) * tiles_.tile_rows;
  s.filter_chunks = CeilDiv(s.filters, s.filters_per_chunk);
}

absl::Status Int8Conv::Bind(BindContext& context) const {
  const bool has_bias = inputs_.bias >= 0 && context.has_input(inputs_.bias);
  const DimsView bias = has_bias ? context.input_dims(inputs_.bias) : DimsView();
  ONWARD_ASSIGN_OR_RETURN(const ConvGeometry g,
                          ConvDims(attributes_, context.input_dims(0),
                                   context.input_dims(inputs_.w), has_bias ? &bias : nullptr));
  ONWARD_RETURN_IF_ERROR(CheckCounts(context, g.filters));
  context.SetOutput(0, g.output);
  ConvState* s = context.NewState<ConvState>();
  s->window = WindowOf(g.axes);
  s->images = g.batch;
  s->groups = g.group;
  s->channels = g.channels / g.group;
  s->filters = g.filters / g.group;
  s->n = g.output_size();
  s->channel_bytes = g.input_size();
  s->k = s->channels * s->window.taps();
  const PatchWindow& w = s->window;
  s->pointwise = w.taps() == 1 && w.stride_h == 1 && w.stride_w == 1 && w.pad_top == 0 &&
                 w.pad_left == 0 && w.in_h == w.out_h && w.in_w == w.out_w;
  s->plane_bytes = s->pointwise ? 0 : ChannelPlanes(w);
  int64_t* taps = context.NewArray<int64_t>(w.taps());
  for (int64_t t = 0; t < w.taps(); ++t) taps[t] = TapOffset(w, t / w.kernel_w, t % w.kernel_w);
  s->taps = {taps, static_cast<size_t>(w.taps())};
  Cut(*s);
  int64_t size = 0;
  const auto reserve = [&](int64_t bytes) {
    const int64_t at = size;
    size += CeilDiv(bytes, 64) * 64;
    return at;
  };
  s->planes = reserve(s->images * g.channels * s->plane_bytes + kSlack);
  s->row_add = reserve(g.filters * 4);
  s->row_mul = reserve(g.filters * 4);
  s->row_scale = reserve(g.filters * 4);
  s->workers = size;
  size = 0;
  reserve(s->panels_per_chunk * PackedPanelBytes(tiles_, s->k));
  s->lines = reserve(s->pointwise ? 0 : s->k * tiles_.tile_cols + kSlack);
  s->sums = reserve(s->panels_per_chunk * tiles_.tile_cols * 4);
  s->worker_bytes = size;
  context.SetScratch(s->workers + s->worker_bytes * context.num_workers());
  return absl::OkStatus();
}

// One channel with its padding, split by the remainders of its strides (see PatchWindow).
void SplitChannel(const PatchWindow& w, const uint8_t* image, uint8_t padding, uint8_t* to) {
  const int64_t rows = PlaneRows(w), width = PlaneWidth(w);
  for (int64_t py = 0; py < w.stride_h; ++py) {
    for (int64_t px = 0; px < w.stride_w; ++px) {
      // Columns [first, last) lie in the image.
      const int64_t left = w.pad_left - px;
      const int64_t first =
          std::clamp<int64_t>(CeilDiv(std::max<int64_t>(left, 0), w.stride_w), 0, width);
      const int64_t room = w.in_w + left;
      const int64_t last =
          std::clamp<int64_t>(room > 0 ? CeilDiv(room, w.stride_w) : 0, first, width);
      for (int64_t r = 0; r < rows; ++r, to += width) {
        const int64_t y = r * w.stride_h + py - w.pad_top;
        if (y < 0 || y >= w.in_h) {
          std::memset(to, padding, static_cast<size_t>(width));
          continue;
        }
        const uint8_t* from = image + y * w.in_w - left;
        std::memset(to, padding, static_cast<size_t>(first));
        if (w.stride_w == 1) {
          if (last > first)
            std::memcpy(to + first, from + first, static_cast<size_t>(last - first));
        } else {
          for (int64_t c = first; c < last; ++c) to[c] = from[c * w.stride_w];
        }
        std::memset(to + last, padding, static_cast<size_t>(width - last));
      }
    }
  }
}

void Int8Conv::PackPanel(const RunContext& context, const ConvState& s, int64_t image,
                         int64_t panel, uint8_t* lines, void* to, int32_t* sums) const {
  const int64_t width = tiles_.tile_cols, pixel = panel * width;
  const int64_t pixels = std::min(width, s.n - pixel);
  ByteSource source = {nullptr, x_dtype_ == DType::kInt8, x_shifted_};
  if (s.pointwise) {
    source.data = context.in<uint8_t>(0) + image * s.channels * s.channel_bytes + pixel;
    PackBytePanel(tiles_, source, s.n, pixels, s.k, to, sums);
    return;
  }
  const PatchWindow& w = s.window;
  const uint8_t* planes =
      context.scratch<uint8_t>() + s.planes + image * s.channels * s.plane_bytes;
  // Runs of neighbouring pixels. Whole vectors are copied: what lies beyond a run is overwritten by
  // the next run or line.
  struct Run {
    int64_t from, to;
  };
  Run runs[kMostColumns];
  int num_runs = 0;
  for (int64_t p = 0; p < pixels;) {
    const int64_t y = (pixel + p) / w.out_w, x = (pixel + p) % w.out_w;
    runs[num_runs++] = {y * PlaneWidth(w) + x, p};
    p += w.out_w - x;
  }
  for (int64_t channel = 0; channel < s.channels; ++channel, planes += s.plane_bytes) {
    for (const int64_t tap : s.taps) {
      for (int r = 0; r < num_runs; ++r)
        std::memcpy(lines + runs[r].to, planes + tap + runs[r].from, kMostColumns);
      lines += width;
    }
  }
  source.data = lines - s.k * width;
  PackBytePanel(tiles_, source, width, pixels, s.k, to, sums);
}

// c = sums - x_zero rowsum - w_zero (colsum - k x_zero) + bias; says whether the sums of columns
// are needed.
bool Int8Conv::PrepareFilters(const RunContext& context, const ConvState& s, Int8Finish& f) const {
  char* scratch = context.scratch<char>();
  const int64_t filters = s.filters * s.groups;
  const int32_t x_shift = ZeroShift(x_dtype_, x_shifted_);
  const int32_t w_shift = ZeroShift(w_dtype_, w_shifted_);
  const auto x_zero = static_cast<uint32_t>(
      LineValues<int32_t>(OptionalInput(context, inputs_.x_zero))[0] + x_shift);
  const LineValues<int32_t> w_zeros(OptionalInput(context, inputs_.w_zero));
  const bool has_bias = inputs_.bias >= 0 && context.has_input(inputs_.bias);
  int32_t* add = reinterpret_cast<int32_t*>(scratch + s.row_add);
  int32_t* mul = reinterpret_cast<int32_t*>(scratch + s.row_mul);
  const int32_t* sums = packed_.sums.data<int32_t>();
  bool needs_sums = false;
  for (int64_t i = 0; i < filters; ++i) {
    const int32_t w_zero = w_zeros[i] + w_shift;
    mul[i] = -w_zero;
    needs_sums |= w_zero != 0;
    const uint32_t constant = static_cast<uint32_t>(s.k) * static_cast<uint32_t>(w_zero) * x_zero;
    const uint32_t bias =
        has_bias ? static_cast<uint32_t>(context.in<int32_t>(inputs_.bias)[i]) : 0;
    add[i] = static_cast<int32_t>(bias + constant - x_zero * static_cast<uint32_t>(sums[i]));
  }
  f.row_add = add;
  if (needs_sums) f.row_mul = mul;
  if (!inputs_.quantized) return needs_sums;
  const float x_scale = *context.in<float>(inputs_.x_scale);
  const float y_scale = *context.in<float>(inputs_.y_scale);
  const LineValues<float> w_scales(context.input(inputs_.w_scale));
  float* scales = reinterpret_cast<float*>(scratch + s.row_scale);
  for (int64_t i = 0; i < filters; ++i) scales[i] = x_scale * w_scales[i] / y_scale;
  f.row_scale = scales;
  const bool is_signed = context.output(0).dtype == DType::kInt8;
  f.zero = LineValues<float>(context.input(inputs_.y_zero))[0];
  f.low = is_signed ? -128.0f : 0.0f;
  f.high = is_signed ? 127.0f : 255.0f;
  return needs_sums;
}

void Int8Conv::RunChunk(const RunContext& context, const ConvState& s, int64_t chunk,
                        const Int8Finish& all, bool needs_sums, char* own) const {
  const int64_t filter_begin = chunk % s.filter_chunks * s.filters_per_chunk;
  const int64_t filter_end = std::min(s.filters, filter_begin + s.filters_per_chunk);
  const int64_t panel_begin = chunk / s.filter_chunks % s.panel_chunks * s.panels_per_chunk;
  const int64_t panel_end = std::min(s.panels, panel_begin + s.panels_per_chunk);
  const int64_t image = chunk / s.filter_chunks / s.panel_chunks;  // of images x groups
  const int64_t panel_bytes = PackedPanelBytes(tiles_, s.k), width = tiles_.tile_cols;
  int32_t* col_sums = needs_sums ? reinterpret_cast<int32_t*>(own + s.sums) : nullptr;
  for (int64_t p = panel_begin; p < panel_end; ++p) {
    const int64_t slot = p - panel_begin;
    PackPanel(context, s, image, p, reinterpret_cast<uint8_t*>(own + s.lines),
              own + slot * panel_bytes, needs_sums ? col_sums + slot * width : nullptr);
  }
  const int64_t row_bytes = PackedRowBytes(tiles_, s.k), units = UnitsOf(tiles_, s.k);
  const int64_t first = image % s.groups * s.filters;  // of the group
  alignas(64) int32_t sums[16 * kMostColumns];
  for (int64_t filter = filter_begin; filter < filter_end; filter += tiles_.tile_rows) {
    const int rows = static_cast<int>(std::min<int64_t>(tiles_.tile_rows, filter_end - filter));
    const uint8_t* a = packed_.rows.data<uint8_t>() + (first + filter) * row_bytes;
    Int8Finish f = all;
    f.row_add += first + filter;
    if (f.row_mul != nullptr) f.row_mul += first + filter;
    if (f.row_scale != nullptr) f.row_scale += first + filter;
    for (int64_t p = panel_begin; p < panel_end; ++p) {
      const int64_t slot = p - panel_begin, pixel = p * width;
      const int cols = static_cast<int>(std::min(width, s.n - pixel));
      tiles_.tile[static_cast<int>(ByteSigns::kVectorsUnsigned)](
          a, row_bytes, rows, own + slot * panel_bytes, units, sums);
      if (needs_sums) f.col_mul = col_sums + slot * width;
      const int64_t to = (image * s.filters + filter) * s.n + pixel;
      if (inputs_.quantized) {
        tiles_.finish_byte(sums, rows, cols, f, context.out<uint8_t>(0) + to, s.n);
      } else {
        tiles_.finish_int32(sums, rows, cols, f, context.out<int32_t>(0) + to, s.n);
      }
    }
  }
}

absl::Status Int8Conv::Run(RunContext& context) const {
  const ConvState& s = context.state<ConvState>();
  if (context.output(0).num_elements() == 0) return absl::OkStatus();
  Int8Finish finish;
  const bool needs_sums = PrepareFilters(context, s, finish);
  char* scratch = context.scratch<char>();
  if (!s.pointwise) {
    const auto padding =
        static_cast<uint8_t>(LineValues<int32_t>(OptionalInput(context, inputs_.x_zero))[0]);
    const int64_t grain = std::max<int64_t>(1, 64 * 1024 / std::max<int64_t>(1, s.plane_bytes));
    context.ParallelFor(s.images * s.groups * s.channels, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        SplitChannel(s.window, context.in<uint8_t>(0) + i * s.channel_bytes, padding,
                     reinterpret_cast<uint8_t*>(scratch) + s.planes + i * s.plane_bytes);
      }
    });
  }
  context.ParallelForWorkers(s.images * s.groups * s.panel_chunks * s.filter_chunks, 1,
                             [&](int worker, int64_t begin, int64_t end) {
                               char* own = scratch + s.workers + worker * s.worker_bytes;
                               for (int64_t i = begin; i < end; ++i)
                                 RunChunk(context, s, i, finish, needs_sums, own);
                             });
  return absl::OkStatus();
}

absl::StatusOr<PackedFilters> Pack(const Int8TileKernels& tiles, const Tensor& w) {
  const int64_t filters = w.dims()[0], k = NumElements(w.dims(), 1, w.rank());
  PackedFilters packed;
  ONWARD_ASSIGN_OR_RETURN(packed.rows,
                          Tensor::Create(DType::kUint8, {filters, PackedRowBytes(tiles, k)}));
  ONWARD_ASSIGN_OR_RETURN(packed.sums, Tensor::Create(DType::kInt32, {filters}));
  const ByteSource source = {static_cast<const uint8_t*>(w.raw_data()), w.dtype() == DType::kInt8,
                             IsShifted(tiles, w.dtype(), false)};
  PackByteRows(tiles, source, k, filters, k, packed.rows.mutable_data<uint8_t>(),
               packed.sums.mutable_data<int32_t>());
  return packed;
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
  ONWARD_ASSIGN_OR_RETURN(PackedFilters packed, Pack(tiles, *w));
  spec.ReleaseConstant(kInputs.w);
  return std::make_unique<Int8Conv>(tiles, kInputs, std::move(attributes), spec.input_dtype(0),
                                    w->dtype(), std::move(packed));
}

template <const Inputs& kInputs>
constexpr KernelEntry Row(std::string_view op, std::string_view name) {
  return {"", op, name, MakeInt8Conv<kInputs>, kInt8Targets};
}

constexpr KernelEntry kKernels[] = {
    Row<kConvInteger>("ConvInteger", "conv_integer"),
    Row<kQLinearConv>("QLinearConv", "qlinear_conv"),
};

}  // namespace

KernelList QuantizedConvKernels() { return kKernels; }

}  // namespace onward::kernels::cpu
