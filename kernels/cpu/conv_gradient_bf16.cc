// The gradient of convolutions by their weights as products of pairs of bfloat16, two neighbouring
// positions to a word. X is rounded once, to planes; a row of the first operand is what one tap of
// one channel reads of them, a column of the second is a filter of dY. The result is transposed.
#include <algorithm>

#include "graph/base/checked.h"
#include "kernels/bind/conv_gradient.h"
#include "kernels/cpu/conv_plan.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/saved_floats.h"
#include "kernels/cpu/simd/conv_bf16.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kMaxChunkRows = 288;  // of a block of positions: half the second-level cache
constexpr int64_t kMaxBlockPositions = 1024;
constexpr int64_t kWantedChunks = 16;
constexpr int64_t kMinSegmentPositions = 2048;
constexpr int64_t kLine = 16;  // words; packed rows begin in different sets of the cache
constexpr int64_t kFillGrain = 16 * 1024;  // floats that one thread rounds at a time

// Output rows of all images are cut into segments, whose results are added up at the end, and these
// into blocks that are multiplied at a time.
struct PairsGradientState {
  PatchWindow window;
  int64_t batch, channels, filters, group, taps;
  int64_t x_size, y_size;  // of one channel
  int64_t plane;           // elements of one channel's planes
  int64_t channels_per_chunk, chunks_per_group;
  int64_t segments, segment_rows, block_rows;
  int64_t words, panel_columns;  // of the packed block at most; columns of the transposed result
  absl::Span<const int64_t> tap_offsets;
  int64_t partials, workers, worker_floats;  // where in the scratch they begin; of one worker

  int64_t all_rows() const { return batch * window.out_h; }
  int64_t channels_of_group() const { return channels / group; }
  int64_t filters_of_group() const { return filters / group; }
  int64_t chunks() const { return group * chunks_per_group * segments; }
  int64_t row_words() const { return words + kLine; }
  int64_t weights() const { return filters * channels_of_group() * taps; }
  int64_t chunk_rows() const { return channels_per_chunk * taps; }
};

// Rows of one image that lie in a block; pairs do not cross images.
struct RowRun {
  int64_t image, begin, rows;
};

template <typename F>
void ForEachRun(const PairsGradientState& s, int64_t begin, int64_t end, F&& f) {
  int64_t word = 0;
  while (begin < end) {
    const int64_t image = begin / s.window.out_h, row = begin % s.window.out_h;
    const int64_t rows = std::min(end - begin, s.window.out_h - row);
    f(RowRun{image, row, rows}, word);
    word += CeilDiv(rows * s.window.out_w, 2);
    begin += rows;
  }
}

class PairsWeightGradient : public Kernel {
 public:
  PairsWeightGradient(Target target, ConvWeightAttributes attributes, bool narrow)
      : attributes_(std::move(attributes)),
        narrow_(narrow),
        tiles_(kBf16TilesPerTarget.For(target)()),
        planes_(kConvPairsPerTarget.For(target)()) {}

  absl::Status Bind(BindContext& context) const override {
    const DimsView x = context.input_dims(0), dy = context.input_dims(1);
    ONWARD_ASSIGN_OR_RETURN(const WindowAxes axes, attributes_.Axes(x, dy));
    context.SetOutput(0, attributes_.OutputDims(x, dy));
    auto* s = context.NewState<PairsGradientState>();
    if (NumElements(x) == 0 || NumElements(dy) == 0) return absl::OkStatus();
    s->window = WindowOf(axes);
    s->batch = x[0], s->channels = x[1], s->filters = dy[1], s->group = attributes_.group;
    s->taps = s->window.taps();
    s->x_size = s->window.in_h * s->window.in_w;
    s->y_size = s->window.out_h * s->window.out_w;
    s->plane = ChannelPlanes(s->window);
    int64_t* offsets = context.NewArray<int64_t>(s->taps);
    for (int64_t t = 0; t < s->taps; ++t)
      offsets[t] = TapOffset(s->window, t / s->window.kernel_w, t % s->window.kernel_w);
    s->tap_offsets = {offsets, static_cast<size_t>(s->taps)};
    Cut(*s);
    ONWARD_ASSIGN_OR_RETURN(const int64_t plane_bytes,
                            CheckedByteSize(DType::kBFloat16, Dims{x[0], x[1], s->plane}));
    s->partials = CeilDiv(plane_bytes, 4 * kLine) * kLine + kLine;
    s->workers = s->partials + (s->segments > 1 ? s->segments * s->weights() : 0);
    s->worker_floats =
        s->chunk_rows() * (s->row_words() + s->panel_columns) + s->words * tiles_.tile_cols;
    if (narrow_) s->worker_floats = std::max(s->worker_floats, s->x_size);
    context.SetScratch((s->workers + s->worker_floats * context.num_workers()) *
                       static_cast<int64_t>(sizeof(float)));
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const auto& s = context.state<PairsGradientState>();
    if (s.segments == 0) {
      std::fill_n(context.out<float>(0), context.output(0).num_elements(), 0.0f);
      return absl::OkStatus();
    }
    auto* planes = context.scratch<uint16_t>();
    float* partials = context.scratch<float>() + s.partials;
    float* scratch = context.scratch<float>() + s.workers;
    const SavedFloats x(context.input(0));
    context.ParallelForWorkers(s.batch * s.channels, CeilDiv(kFillGrain, s.plane),
                               [&](int worker, int64_t begin, int64_t end) {
                                 float* own = scratch + worker * s.worker_floats;
                                 for (int64_t i = begin; i < end; ++i)
                                   planes_.split_channel(s.window,
                                                         x.Read(i * s.x_size, s.x_size, own),
                                                         planes + i * s.plane);
                               });
    context.ParallelForWorkers(s.chunks(), 1, [&](int worker, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t segment = i % s.segments;
        float* to = s.segments > 1 ? partials + segment * s.weights() : context.out<float>(0);
        RunChunk(context, s, i / s.segments, segment, scratch + worker * s.worker_floats, to);
      }
    });
    if (s.segments > 1) AddSegments(context, s, partials);
    return absl::OkStatus();
  }

 private:
  void Cut(PairsGradientState& s) const {
    s.channels_per_chunk =
        EvenPiece(s.channels_of_group(), std::max<int64_t>(1, kMaxChunkRows / s.taps));
    s.chunks_per_group = CeilDiv(s.channels_of_group(), s.channels_per_chunk);
    const int64_t out_w = s.window.out_w;
    const int64_t least_rows = CeilDiv(kMinSegmentPositions, out_w);
    const int64_t wanted = CeilDiv(kWantedChunks, s.group * s.chunks_per_group);
    s.segment_rows = std::max(CeilDiv(s.all_rows(), wanted), std::min(s.all_rows(), least_rows));
    s.segments = CeilDiv(s.all_rows(), s.segment_rows);
    s.block_rows = EvenPiece(s.segment_rows, std::max<int64_t>(1, kMaxBlockPositions / out_w));
    // One word more for each image that a block may touch.
    const int64_t images = CeilDiv(s.block_rows, s.window.out_h) + 1;
    s.words = CeilDiv(CeilDiv(s.block_rows * out_w, 2) + images, kLine) * kLine;
    s.panel_columns = CeilDiv(s.filters_of_group(), tiles_.tile_cols) * tiles_.tile_cols;
  }

  void RunChunk(const RunContext& context, const PairsGradientState& s, int64_t chunk,
                int64_t segment, float* scratch, float* to) const {
    const int64_t group = chunk / s.chunks_per_group;
    const int64_t first = chunk % s.chunks_per_group * s.channels_per_chunk;
    const int64_t channels = std::min(s.channels_per_chunk, s.channels_of_group() - first);
    float* sums = scratch;
    float* rows = sums + s.chunk_rows() * s.panel_columns;
    float* panel = rows + s.chunk_rows() * s.row_words();
    const int64_t begin = segment * s.segment_rows;
    const int64_t end = std::min(s.all_rows(), begin + s.segment_rows);
    for (int64_t at = begin; at < end; at += s.block_rows) {
      const int64_t block_end = std::min(end, at + s.block_rows);
      PackRows(context, s, group * s.channels_of_group() + first, channels, at, block_end, rows);
      for (int64_t f = 0; f < s.filters_of_group(); f += tiles_.tile_cols) {
        const int columns =
            static_cast<int>(std::min<int64_t>(tiles_.tile_cols, s.filters_of_group() - f));
        const float* dy = context.in<float>(1) + (group * s.filters_of_group() + f) * s.y_size;
        const int64_t words = PackPanel(s, dy, columns, at, block_end, panel);
        Multiply(s, rows, panel, words, channels * s.taps, columns, at > begin, sums + f);
      }
    }
    const int64_t row = s.channels_of_group() * s.taps;
    kConvTilesPerTarget.For(tiles_.target)().store_transposed(
        sums, s.panel_columns, static_cast<int>(channels * s.taps),
        static_cast<int>(s.filters_of_group()), nullptr, {},
        to + group * s.filters_of_group() * row + first * s.taps, row);
  }

  // What the taps of channels from `channel` on read for output rows [begin, end).
  void PackRows(const RunContext& context, const PairsGradientState& s, int64_t channel,
                int64_t channels, int64_t begin, int64_t end, float* rows) const {
    const uint16_t* planes = context.scratch<uint16_t>();
    const int64_t width = PlaneWidth(s.window);
    ForEachRun(s, begin, end, [&](const RowRun& run, int64_t word) {
      float* to = rows + word;
      for (int64_t c = 0; c < channels; ++c) {
        const uint16_t* plane =
            planes + (run.image * s.channels + channel + c) * s.plane + run.begin * width;
        for (int64_t t = 0; t < s.taps; ++t, to += s.row_words()) {
          planes_.copy_rows(plane + s.tap_offsets[static_cast<size_t>(t)], width, run.rows,
                            s.window.out_w, reinterpret_cast<uint16_t*>(to));
        }
      }
    });
  }

  // Returns the words of a column.
  int64_t PackPanel(const PairsGradientState& s, const float* dy, int columns, int64_t begin,
                    int64_t end, float* panel) const {
    int64_t words = 0;
    ForEachRun(s, begin, end, [&](const RowRun& run, int64_t word) {
      const int64_t positions = run.rows * s.window.out_w;
      tiles_.pack_columns_transposed(
          dy + run.image * s.filters * s.y_size + run.begin * s.window.out_w, s.y_size, columns,
          positions, 1.0f, panel + word * tiles_.tile_cols);
      words = word + CeilDiv(positions, 2);
    });
    return words;
  }

  void Multiply(const PairsGradientState& s, const float* rows, const float* panel, int64_t words,
                int64_t count, int columns, bool accumulate, float* sums) const {
    GemmTile tile;
    tile.cols = columns;
    tile.k = words;
    tile.a_row = s.row_words();
    tile.a_k = 1;
    tile.b = panel;
    tile.b_k = tiles_.tile_cols;
    tile.b_padded = true;
    tile.c_row = s.panel_columns;
    tile.accumulate = accumulate;
    const int64_t row_tiles = CeilDiv(count, tiles_.tile_rows);
    const KeepTiles keep(tiles_);
    for (int64_t i = 0; i < row_tiles; ++i) {
      const RowRange range = RowsOfTile(count, row_tiles, i);
      tile.rows = range.count;
      tile.a = rows + range.begin * tile.a_row;
      tile.c = sums + range.begin * tile.c_row;
      tiles_.tile(tile);
    }
  }

  static void AddSegments(const RunContext& context, const PairsGradientState& s,
                          const float* partials) {
    float* dw = context.out<float>(0);
    context.ParallelFor(s.weights(), kFillGrain, [&](int64_t begin, int64_t end) {
      std::copy(partials + begin, partials + end, dw + begin);
      for (int64_t k = 1; k < s.segments; ++k) {
        const float* more = partials + k * s.weights();
        for (int64_t i = begin; i < end; ++i) dw[i] += more[i];
      }
    });
  }

  ConvWeightAttributes attributes_;
  bool narrow_;  // X is
  const GemmTileKernels& tiles_;
  const ConvPairsKernels& planes_;
};

// Size of axis 1, 0 where it is not known.
int64_t ChannelsOf(const NodeSpec& spec, int input) {
  const auto& shape = spec.input_type(input).shape;
  return shape && shape->size() > 1 && (*shape)[1].known() ? (*shape)[1].value() : 0;
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckPairsAreFaster(spec));
  ONWARD_RETURN_IF_ERROR(CheckFloat32(spec, 0));
  ONWARD_ASSIGN_OR_RETURN(ConvWeightAttributes attributes, ConvWeightAttributes::Parse(spec));
  if (NumElements(attributes.kernel) == 1 && ChannelsOf(spec, 1) > ChannelsOf(spec, 0))
    return absl::UnimplementedError("of a pointwise convolution, dY is larger to transpose than X");
  return std::make_unique<PairsWeightGradient>(TargetOf(spec), std::move(attributes),
                                               IsSavedNarrow(spec.input_dtype(0)));
}

constexpr KernelEntry kKernels[] = {
    {"onward", "ConvWeightGradient", "conv_weight_gradient_bf16", Make, kBf16Targets},
};

}  // namespace

KernelList ConvGradientBf16Kernels() { return kKernels; }

}  // namespace onward::kernels::cpu
