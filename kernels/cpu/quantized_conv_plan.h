// A convolution of 8-bit integers as windows over images with their channels last, and how it is
// cut: each output pixel is a row of runs, and filters lie along the vectors (simd/int8_tile.h).
#pragma once

#include <cstdint>

#include "absl/types/span.h"
#include "kernels/cpu/channels_last.h"
#include "kernels/cpu/quantized_filters.h"
#include "kernels/shapes/conv.h"
#include "onward/kernel.h"

namespace onward::kernels::cpu {

struct QuantizedConvPlan {
  ChannelsLast image;
  bool depthwise = false;
  bool in_place = false;                         // the image is read where it is
  bool y_last = false;                           // the result has its channels last
  absl::Span<const int64_t> runs;                // bytes from the first one
  int64_t images, groups, channels, filters, k;  // channels and filters: of one group
  int64_t out_w, n;                              // pixels of a row, of an image
  int64_t pixel_rows, pixel_columns;             // of the image, from one output to the next
  int64_t pixel_bytes, row_bytes;                // of what is read
  int64_t run_elements;
  int64_t window_rows, window_columns;  // of the image, that one pixel reads
  int64_t panels, panels_per_chunk, panel_chunks, pixels_per_chunk, pixel_chunks;
  // Bytes from the start of scratch.
  int64_t col_add, col_mul, col_scale, workers;
  int64_t band, rows, row_sums, worker_runs, results, worker_bytes;  // within a worker's part

  // The part that pixels [pixel, pixel + count) read: rows of the image, or a part of its only row.
  struct Band {
    int64_t row = 0, rows = 0, column = 0, columns = 0;
  };
  Band BandOf(int64_t pixel, int64_t count) const;
  // Scratch for the band of a chunk.
  int64_t band_bytes() const;
};

struct QuantizedConvForm {
  FilterForm filters = FilterForm::kTaps;
  bool x_last = false, y_last = false;  // have their channels last
  bool x_shifted = false;               // see int8_pack.h
};

// The arrays are of `context`; the parts of scratch are left to the caller.
QuantizedConvPlan PlanQuantizedConv(const Int8TileKernels& tiles, const ConvGeometry& geometry,
                                    const QuantizedConvForm& form, BindContext& context);

}  // namespace onward::kernels::cpu
