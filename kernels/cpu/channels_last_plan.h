// A convolution as windows over images with their channels last, and how it is cut: each output
// pixel is a row of runs, and filters lie along the vectors (simd/run_product.h).
#pragma once

#include <cstdint>

#include "absl/types/span.h"
#include "kernels/bind/conv.h"
#include "kernels/cpu/channels_last.h"
#include "kernels/cpu/simd/run_product.h"
#include "onward/kernel.h"

namespace onward::kernels::cpu {

// The kinds of runs of a window over an image with its channels last.
enum class FilterForm : uint8_t {
  kRows,       // a row of the kernel, all its channels: no dilation along it, one group
  kTaps,       // a tap, the channels of a group
  kDepthwise,  // a tap of one channel, with a filter a channel
};

struct FilterRuns {
  int64_t count = 1;     // of a window
  int64_t per_row = 1;   // of them
  int64_t elements = 0;  // of a run
};
// `channels`: of a group.
FilterRuns RunsOf(int64_t kernel_h, int64_t kernel_w, FilterForm form, int64_t channels);

// Pieces of all, or of `most` at most and down to a third of it, with which the workers end first;
// the larger ones of equals. `copies`: of the whole.
int64_t BalancedPiece(int64_t count, int64_t most, int64_t copies, int64_t workers);

struct ChannelsLastPlan {
  ChannelsLast image;
  bool depthwise = false;
  bool in_place = false;                         // the image is read where it is
  bool y_last = false;                           // the result has its channels last
  absl::Span<const int64_t> runs;                // bytes from the first one
  int64_t row_runs;                              // of a row of the window
  int64_t run_columns;                           // of the image, that a run has
  int64_t run_row_step, run_column_step;         // rows and columns from one run to the next
  int64_t images, groups, channels, filters, k;  // channels and filters: of one group
  int64_t out_w, n;                              // pixels of a row, of an image
  int64_t pixel_rows, pixel_columns;             // of the image, from one output to the next
  int64_t pixel_bytes, row_bytes;                // of what is read
  int64_t run_elements;
  int64_t window_rows, window_columns;  // of the image, that one pixel reads
  int64_t first_column, columns;        // those that runs read which are not padding alone
  int64_t line;  // pixels whose windows begin evenly apart: of a row, or of the image
  int64_t panels, panels_per_chunk, panel_chunks, pixels_per_chunk, pixel_chunks;

  // The part that pixels [pixel, pixel + count) read: rows of the image, or a part of its only row.
  struct Band {
    int64_t row = 0, rows = 0, column = 0, columns = 0;
  };
  Band BandOf(int64_t pixel, int64_t count) const;
  // Scratch for the band of a chunk.
  int64_t band_bytes() const;
  // Writes where the windows of pixels begin in `from`: the image, or a band of it.
  void PlaceRows(const char* from, const Band& band, int64_t pixel, int64_t count,
                 const void** rows) const;
  // Returns whether a row of the padded image has more than padding.
  bool IsInImage(int64_t row) const;
  // Bit i: the windows of `count` pixels of a row have more than padding in run i.
  uint64_t RunsInImage(int64_t pixel, int64_t count) const;
  // Writes the runs, `bytes` further, and returns them: those of a panel of channels of its own.
  const int64_t* MoveRuns(int64_t bytes, int64_t* to) const;
};

struct ChannelsLastForm {
  FilterForm filters = FilterForm::kTaps;
  bool x_last = false, y_last = false;  // have their channels last
  bool x_fits = false;                  // tiles read elements of X as they are
  bool whole_lines = false;             // chunks end with lines, where these are not the image
  bool skips_padding = false;           // runs of padding alone are not read
};

// The arrays are of `context`.
// `channels`: of a group as tiles read them, those of X or more.
ChannelsLastPlan PlanChannelsLast(const RunTileSizes& tiles, const ConvGeometry& geometry,
                                  int64_t channels, const ChannelsLastForm& form,
                                  BindContext& context);

}  // namespace onward::kernels::cpu
