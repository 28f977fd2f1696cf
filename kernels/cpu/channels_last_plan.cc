#include "kernels/cpu/channels_last_plan.h"

#include <algorithm>

#include "kernels/cpu/conv_plan.h"
#include "kernels/cpu/fast_float.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kSlack = 256;       // bytes after an image, which tiles read beyond a run
constexpr int64_t kMostPixels = 192;  // of a chunk
constexpr int64_t kMostRows = 8;      // or so many rows, where windows overlap
constexpr int64_t kFewChunks = 4;     // below, chunks share the filters

// Windows of one element need no image but the pixels that they take; without gaps and padding
// these are one row.
void SetPixels(const PatchWindow& w, ChannelsLastPlan& s) {
  s.image.row_step = w.stride_h, s.image.column_step = w.stride_w;
  s.image.rows = w.out_h, s.image.columns = w.out_w;
  s.pixel_rows = s.pixel_columns = 1;
  if (w.stride_h == 1 && w.stride_w == 1 && w.pad_top == 0 && w.pad_left == 0 &&
      w.in_h == w.out_h && w.in_w == w.out_w) {
    s.image.in_h = s.image.rows = 1;
    s.image.in_w = s.image.columns = s.out_w = s.n;
  }
}

int64_t Extent(int64_t outputs, int64_t stride, int64_t kernel, int64_t dilation) {
  return std::max<int64_t>(0, (outputs - 1) * stride + (kernel - 1) * dilation + 1);
}

// Whether windows read nothing but elements of the image, as they are.
bool IsInPlace(const RunTileSizes& tiles, const PatchWindow& w, const ChannelsLastForm& form,
               int64_t run_elements) {
  return form.x_last && form.x_fits &&
         run_elements % (form.filters == FilterForm::kDepthwise ? tiles.tile_cols : tiles.unit) ==
             0 &&
         w.pad_top == 0 && w.pad_left == 0 &&
         Extent(w.out_h, w.stride_h, w.kernel_h, w.dilation_h) <= w.in_h &&
         Extent(w.out_w, w.stride_w, w.kernel_w, w.dilation_w) <= w.in_w;
}

// With wide dilations, most runs read padding alone.
void SetColumns(const PatchWindow& w, const ChannelsLastForm& form, ChannelsLastPlan& s) {
  s.first_column = 0, s.columns = s.image.columns;
  if (!form.skips_padding || s.row_runs == 1 || s.in_place || s.image.rows == 1) return;
  int64_t begin = s.columns, end = 0;
  for (int64_t run = 0; run < s.row_runs; ++run) {
    const int64_t first = run * s.run_column_step, last = first + Extent(w.out_w, w.stride_w, 1, 1);
    if (last <= s.image.left || first >= s.image.left + s.image.in_w) continue;
    begin = std::min(begin, first), end = std::max(end, last);
  }
  if (begin < end) s.first_column = begin, s.columns = end - begin;
}

void SetWindow(const RunTileSizes& tiles, const PatchWindow& w, const ChannelsLastForm& form,
               BindContext& context, ChannelsLastPlan& s) {
  const FilterRuns runs = RunsOf(w.kernel_h, w.kernel_w, form.filters, s.image.channels);
  s.run_elements = runs.elements, s.row_runs = runs.per_row;
  s.run_columns = runs.per_row == 1 ? (w.kernel_w - 1) * w.dilation_w + 1 : 1;
  s.run_row_step = w.dilation_h, s.run_column_step = w.dilation_w;
  s.in_place = IsInPlace(tiles, w, form, runs.elements);
  s.pixel_rows = w.stride_h, s.pixel_columns = w.stride_w;
  s.window_rows = Extent(1, 1, w.kernel_h, w.dilation_h);
  s.window_columns = Extent(1, 1, w.kernel_w, w.dilation_w);
  if (s.in_place) {
    s.image.rows = w.in_h, s.image.columns = w.in_w;
  } else if (w.taps() == 1) {
    SetPixels(w, s);
  } else {
    s.image.rows = Extent(w.out_h, w.stride_h, w.kernel_h, w.dilation_h);
    s.image.columns = Extent(w.out_w, w.stride_w, w.kernel_w, w.dilation_w);
  }
  s.pixel_bytes = (s.in_place ? s.image.from_channels : s.image.channels) * tiles.element_bytes;
  SetColumns(w, form, s);
  s.row_bytes = s.columns * s.pixel_bytes;
  const bool is_even = s.pixel_rows * s.row_bytes == s.out_w * s.pixel_columns * s.pixel_bytes;
  const bool may_skip = form.skips_padding && !s.in_place && w.taps() > 1;
  s.line = is_even && !may_skip ? s.n : s.out_w;
  int64_t* offsets = context.NewArray<int64_t>(runs.count);
  for (int64_t run = 0; run < runs.count; ++run) {
    const int64_t ky = run / runs.per_row, kx = run % runs.per_row;
    offsets[run] = ky * w.dilation_h * s.row_bytes + kx * w.dilation_w * s.pixel_bytes;
  }
  s.runs = {offsets, static_cast<size_t>(runs.count)};
}

// Enough chunks for the threads, each of many pixels, which share the filters in the caches and
// the rows of overlapping windows.
void Cut(const RunTileSizes& tiles, const PatchWindow& w, const ChannelsLastForm& form,
         int64_t workers, ChannelsLastPlan& s) {
  const int64_t copies = s.images * s.groups;
  const int64_t pixels = std::max(kMostPixels, w.kernel_h > 1 ? kMostRows * s.out_w : 0);
  if (form.whole_lines && s.line < s.n) {
    const int64_t lines = std::max<int64_t>(1, pixels / s.line);
    s.pixels_per_chunk = BalancedPiece(w.out_h, lines, copies, workers) * s.line;
  } else {
    s.pixels_per_chunk =
        BalancedPiece(CeilDiv(s.n, tiles.tile_rows), pixels / tiles.tile_rows, copies, workers) *
        tiles.tile_rows;
  }
  s.pixel_chunks = CeilDiv(s.n, s.pixels_per_chunk);
  s.panels = CeilDiv(s.filters, tiles.tile_cols);
  const int64_t chunks = std::max<int64_t>(1, copies * s.pixel_chunks);
  s.panels_per_chunk = EvenPiece(s.panels, CeilDiv(s.panels, CeilDiv(kFewChunks, chunks)));
  s.panel_chunks = CeilDiv(s.panels, s.panels_per_chunk);
}

}  // namespace

int64_t BalancedPiece(int64_t count, int64_t most, int64_t copies, int64_t workers) {
  if (count <= most) return std::max<int64_t>(1, count);
  int64_t best = most, least = INT64_MAX;
  for (int64_t piece = most; piece > 0 && piece >= most / 3; --piece) {
    const int64_t time = CeilDiv(CeilDiv(count, piece) * copies, workers) * piece;
    if (time < least) best = piece, least = time;
  }
  return best;
}

FilterRuns RunsOf(int64_t kernel_h, int64_t kernel_w, FilterForm form, int64_t channels) {
  if (form == FilterForm::kRows) return {kernel_h, 1, kernel_w * channels};
  return {kernel_h * kernel_w, kernel_w, channels};
}

ChannelsLastPlan::Band ChannelsLastPlan::BandOf(int64_t pixel, int64_t count) const {
  Band band;
  if (image.rows == 1) {
    band.rows = 1;
    band.column = pixel * pixel_columns;
    band.columns = (count - 1) * pixel_columns + window_columns;
    return band;
  }
  const int64_t last = (pixel + count - 1) / out_w;
  band.row = pixel / out_w * pixel_rows;
  band.rows = last * pixel_rows + window_rows - band.row;
  band.column = first_column, band.columns = columns;
  return band;
}

int64_t ChannelsLastPlan::band_bytes() const {
  if (in_place || n == 0) return 0;
  // A chunk that begins within a row reads one row more.
  const int64_t rows =
      image.rows == 1 ? 1 : (pixels_per_chunk / out_w + 1) * pixel_rows + window_rows;
  const int64_t most = image.rows == 1 ? BandOf(0, pixels_per_chunk).columns : columns;
  return rows * most * pixel_bytes + kSlack;
}

void ChannelsLastPlan::PlaceRows(const char* from, const Band& band, int64_t pixel, int64_t count,
                                 const void** to) const {
  int64_t y = pixel / out_w, x = pixel % out_w;
  for (int64_t i = 0; i < count; ++i) {
    to[i] = from + (y * pixel_rows - band.row) * row_bytes +
            (x * pixel_columns - band.column) * pixel_bytes;
    if (++x == out_w) x = 0, ++y;
  }
}

bool ChannelsLastPlan::IsInImage(int64_t row) const {
  const int64_t y = row * image.row_step - image.top;
  return y >= 0 && y < image.in_h;
}

uint64_t ChannelsLastPlan::RunsInImage(int64_t pixel, int64_t count) const {
  const int64_t row = pixel / out_w * pixel_rows, column = pixel % out_w * pixel_columns;
  uint64_t bits = 0;
  for (size_t run = 0; run < runs.size(); ++run) {
    const auto i = static_cast<int64_t>(run);
    const int64_t first = column + i % row_runs * run_column_step;
    const int64_t last = first + (count - 1) * pixel_columns + run_columns - 1;
    const bool has_columns = last * image.column_step >= image.left &&
                             first * image.column_step - image.left < image.in_w;
    if (has_columns && IsInImage(row + i / row_runs * run_row_step)) bits |= uint64_t{1} << run;
  }
  return bits;
}

const int64_t* ChannelsLastPlan::MoveRuns(int64_t bytes, int64_t* to) const {
  for (size_t run = 0; run < runs.size(); ++run) to[run] = runs[run] + bytes;
  return to;
}

ChannelsLastPlan PlanChannelsLast(const RunTileSizes& tiles, const ConvGeometry& g,
                                  int64_t channels, const ChannelsLastForm& form,
                                  BindContext& context) {
  ChannelsLastPlan s = {};
  const PatchWindow w = WindowOf(g.axes);
  s.depthwise = form.filters == FilterForm::kDepthwise;
  s.y_last = form.y_last;
  s.images = g.batch;
  s.groups = s.depthwise ? 1 : g.group;
  s.channels = channels;
  s.filters = g.filters / s.groups;
  s.k = s.channels * w.taps();
  s.out_w = w.out_w, s.n = w.out_h * w.out_w;
  s.image.channels = s.depthwise ? g.channels : s.channels;
  s.image.from_channels = g.channels;
  s.image.comes_last = form.x_last;
  s.image.element_bytes = tiles.element_bytes;
  s.image.in_h = w.in_h, s.image.in_w = w.in_w;
  s.image.top = w.pad_top, s.image.left = w.pad_left;
  SetWindow(tiles, w, form, context, s);
  Cut(tiles, w, form, context.num_workers(), s);
  return s;
}

}  // namespace onward::kernels::cpu
