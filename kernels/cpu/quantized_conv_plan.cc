#include "kernels/cpu/quantized_conv_plan.h"

#include <algorithm>

#include "kernels/cpu/conv_plan.h"
#include "kernels/cpu/fast_float.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kSlack = 256;     // bytes after an image, which tiles read beyond a run
constexpr int64_t kMostTiles = 16;  // of pixels in a chunk
constexpr int64_t kFewChunks = 4;   // below, chunks share the filters
constexpr int64_t kFillColumns = 256;

// Windows of one element need no image but the pixels that they take; without gaps and padding
// these are one row.
void SetPixels(const PatchWindow& w, QuantizedConvPlan& s) {
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
bool IsInPlace(const Int8TileKernels& tiles, const PatchWindow& w, const QuantizedConvForm& form,
               int64_t run_elements) {
  return form.x_last && !form.x_shifted && tiles.element_bytes == 1 &&
         run_elements % tiles.unit == 0 && w.pad_top == 0 && w.pad_left == 0 &&
         Extent(w.out_h, w.stride_h, w.kernel_h, w.dilation_h) <= w.in_h &&
         Extent(w.out_w, w.stride_w, w.kernel_w, w.dilation_w) <= w.in_w;
}

void SetWindow(const Int8TileKernels& tiles, const PatchWindow& w, const QuantizedConvForm& form,
               BindContext& context, QuantizedConvPlan& s) {
  const FilterRuns runs = RunsOf(w.kernel_h, w.kernel_w, form.filters, s.channels);
  s.run_elements = runs.elements;
  s.in_place = IsInPlace(tiles, w, form, runs.elements);
  s.pixel_rows = w.stride_h, s.pixel_columns = w.stride_w;
  if (s.in_place) {
    s.image.rows = w.in_h, s.image.columns = w.in_w;
  } else if (w.taps() == 1) {
    SetPixels(w, s);
  } else {
    s.image.rows = Extent(w.out_h, w.stride_h, w.kernel_h, w.dilation_h);
    s.image.columns = Extent(w.out_w, w.stride_w, w.kernel_w, w.dilation_w);
  }
  s.pixel_bytes = s.image.pixel_bytes(), s.row_bytes = s.image.row_bytes();
  int64_t* offsets = context.NewArray<int64_t>(runs.count);
  for (int64_t run = 0; run < runs.count; ++run) {
    const int64_t ky = run / runs.per_row, kx = run % runs.per_row;
    offsets[run] = ky * w.dilation_h * s.row_bytes + kx * w.dilation_w * s.pixel_bytes;
  }
  s.runs = {offsets, static_cast<size_t>(runs.count)};
}

// Positions hold the bytes of neighbouring taps, for each channel.
void SetDepthwise(const Int8TileKernels& tiles, const PatchWindow& w, BindContext& context,
                  QuantizedConvPlan& s) {
  const FilterRuns runs = RunsOf(w.kernel_h, w.kernel_w, FilterForm::kDepthwise, 1, tiles.unit);
  const int64_t between = tiles.unit * w.dilation_w;  // columns from one run to the next
  const bool skips = runs.per_row == 1 || between % w.stride_w == 0;
  s.taps.unit = tiles.unit, s.taps.dilation = w.dilation_w;
  s.taps.step = skips ? w.stride_w : 1;
  const int64_t outputs = skips ? w.out_w : Extent(w.out_w, w.stride_w, 1, 1);
  s.taps.positions = std::max<int64_t>(0, outputs + (runs.per_row - 1) * (between / s.taps.step));
  s.image.rows = Extent(w.out_h, w.stride_h, w.kernel_h, w.dilation_h);
  s.image.columns = Extent(s.taps.positions, s.taps.step, tiles.unit, w.dilation_w);
  s.pixel_rows = w.stride_h, s.pixel_columns = skips ? 1 : w.stride_w;
  s.pixel_bytes = s.image.pixel_bytes() * tiles.unit;
  s.row_bytes = s.taps.positions * s.pixel_bytes;
  s.run_elements = runs.elements;
  int64_t* offsets = context.NewArray<int64_t>(runs.count);
  for (int64_t run = 0; run < runs.count; ++run) {
    offsets[run] = run / runs.per_row * w.dilation_h * s.row_bytes +
                   run % runs.per_row * (between / s.taps.step) * s.pixel_bytes;
  }
  s.runs = {offsets, static_cast<size_t>(runs.count)};
}

// Enough chunks for the threads, each of many pixels, which share the filters in the caches.
void Cut(const Int8TileKernels& tiles, QuantizedConvPlan& s) {
  s.pixels_per_chunk = EvenPiece(CeilDiv(s.n, tiles.tile_rows), kMostTiles) * tiles.tile_rows;
  s.pixel_chunks = CeilDiv(s.n, s.pixels_per_chunk);
  s.panels = CeilDiv(s.filters, tiles.tile_cols);
  const int64_t chunks = std::max<int64_t>(1, s.images * s.groups * s.pixel_chunks);
  s.panels_per_chunk = EvenPiece(s.panels, CeilDiv(s.panels, CeilDiv(kFewChunks, chunks)));
  s.panel_chunks = CeilDiv(s.panels, s.panels_per_chunk);
}

}  // namespace

int64_t QuantizedConvPlan::line_bytes() const {
  return depthwise ? image.row_bytes() : image.line_bytes(std::min(fill_columns, image.columns));
}

QuantizedConvPlan PlanQuantizedConv(const Int8TileKernels& tiles, const ConvGeometry& g,
                                    const QuantizedConvForm& form, BindContext& context) {
  QuantizedConvPlan s = {};
  const PatchWindow w = WindowOf(g.axes);
  s.depthwise = form.filters == FilterForm::kDepthwise;
  s.y_last = form.y_last;
  s.images = g.batch;
  s.groups = s.depthwise ? 1 : g.group;
  s.channels = g.channels / g.group;
  s.filters = g.filters / s.groups;
  s.k = s.channels * w.taps();
  s.out_w = w.out_w, s.n = w.out_h * w.out_w;
  s.image.channels = g.channels;
  s.image.comes_last = form.x_last;
  s.image.element_bytes = tiles.element_bytes;
  s.image.in_h = w.in_h, s.image.in_w = w.in_w;
  s.image.top = w.pad_top, s.image.left = w.pad_left;
  if (s.depthwise) {
    SetDepthwise(tiles, w, context, s);
  } else {
    SetWindow(tiles, w, form, context, s);
  }
  s.fill_columns = s.depthwise ? std::max<int64_t>(1, s.image.columns) : kFillColumns;
  s.image_bytes = s.image.rows * s.row_bytes + (s.in_place ? 0 : kSlack);
  Cut(tiles, s);
  return s;
}

}  // namespace onward::kernels::cpu
