#include "kernels/cpu/conv_filters.h"

#include <algorithm>

#include "kernels/cpu/conv_bands.h"
#include "kernels/cpu/fast_float.h"

namespace onward::kernels::cpu {
namespace {

// Filters of a group as they are packed, those that fill the last panel included.
int64_t PackedFilters(const GemmTileKernels& tiles, ConvForm form, int64_t filters) {
  const int64_t panels = CeilDiv(filters, tiles.tile_cols);
  return form == ConvForm::kPixelLanes ? filters : panels * tiles.tile_cols;
}

struct FilterCounts {
  int64_t groups, filters, channels;  // filters and channels of one group
};

// Copies what PackFloatFilters made to `live` (PackedFilters of each group, with their channels and
// kept taps), leaving the other taps out.
void CopyLiveFilters(const GemmTileKernels& tiles, ConvForm form, const float* packed,
                     FilterCounts counts, const TapRanges& taps, float* live) {
  // Axes that are not there have one tap.
  const auto axis = [&](size_t from_last) {
    return from_last < taps.size() ? taps[taps.size() - 1 - from_last] : KeptTaps{{0, 1}, 1};
  };
  const KeptTaps columns = axis(0), rows = axis(1), slices = axis(2);
  // `width` filters lie side by side at every step of k.
  const auto copy = [&](int64_t width) {
    const int64_t floats = (columns.range.end - columns.range.begin) * width;
    for (int64_t c = 0; c < counts.channels; ++c) {
      for (int64_t z = slices.range.begin; z < slices.range.end; ++z) {
        for (int64_t y = rows.range.begin; y < rows.range.end; ++y) {
          const int64_t row = (c * slices.of + z) * rows.of + y;
          live =
              std::copy_n(packed + (row * columns.of + columns.range.begin) * width, floats, live);
        }
      }
    }
    packed += counts.channels * slices.of * rows.of * columns.of * width;
  };
  const int64_t row_tiles = CeilDiv(counts.filters, tiles.tile_rows);
  const int64_t panels = CeilDiv(counts.filters, tiles.tile_cols);
  for (int64_t g = 0; g < counts.groups; ++g) {
    if (form == ConvForm::kPixelLanes) {
      for (int64_t i = 0; i < row_tiles; ++i) copy(RowsOfTile(counts.filters, row_tiles, i).count);
    } else {
      for (int64_t i = 0; i < panels; ++i) copy(tiles.tile_cols);
    }
  }
}

}  // namespace

absl::StatusOr<Tensor> PackFloatFilters(const GemmTileKernels& tiles, ConvForm form,
                                        const Tensor& w, int64_t groups) {
  const int64_t m = w.dims()[0] / groups, k = NumElements(w.dims(), 1, w.rank());
  const int64_t row_tiles = CeilDiv(m, tiles.tile_rows);
  const bool pixel_lanes = form == ConvForm::kPixelLanes;
  ONWARD_ASSIGN_OR_RETURN(
      Tensor packed, Tensor::Create(DType::kFloat32, {groups, PackedFilters(tiles, form, m), k}));
  float* to = packed.mutable_data<float>();
  for (int64_t g = 0; g < groups; ++g) {
    const float* from = w.data<float>() + g * m * k;
    if (pixel_lanes) {
      for (int64_t i = 0; i < row_tiles; ++i) {
        const RowRange rows = RowsOfTile(m, row_tiles, i);
        tiles.pack_rows(from + rows.begin * k, k, rows.count, k, to + rows.begin * k);
      }
      to += m * k;
      continue;
    }
    for (int64_t c = 0; c < m; c += tiles.tile_cols, to += k * tiles.tile_cols) {
      tiles.pack_columns_transposed(from + c * k, k,
                                    static_cast<int>(std::min<int64_t>(tiles.tile_cols, m - c)), k,
                                    1.0f, to);
    }
  }
  return packed;
}

absl::StatusOr<Tensor> UnpackFloatFilters(const GemmTileKernels& tiles, ConvForm form,
                                          const Tensor& packed, DimsView dims, int64_t groups) {
  const int64_t m = dims[0] / groups, k = NumElements(dims, 1, dims.size());
  const bool pixel_lanes = form == ConvForm::kPixelLanes;
  const int64_t parts = CeilDiv(m, pixel_lanes ? tiles.tile_rows : tiles.tile_cols);
  ONWARD_ASSIGN_OR_RETURN(Tensor w, Tensor::Create(DType::kFloat32, dims));
  float* to = w.mutable_data<float>();
  const float* from = packed.data<float>();
  for (int64_t i = 0; i < groups * parts; ++i) {
    // Filters of a part, and the places for them.
    int64_t count = RowsOfTile(m, parts, i % parts).count, width = count;
    if (!pixel_lanes) {
      width = tiles.tile_cols;
      count = std::min(width, m - i % parts * width);
    }
    for (int64_t step = 0; step < k; ++step, from += width) {
      for (int64_t f = 0; f < count; ++f) to[f * k + step] = from[f];
    }
    to += count * k;
  }
  return w;
}

absl::StatusOr<Tensor> PackConstantFilters(const NodeSpec& spec, const GemmTileKernels& tiles,
                                           ConvForm form, int64_t groups) {
  const Tensor* w = spec.constant(1);
  if (w == nullptr || w->num_elements() == 0 || w->dims()[0] % groups != 0) return Tensor();
  ONWARD_ASSIGN_OR_RETURN(Tensor packed, PackFloatFilters(tiles, form, *w, groups));
  spec.ReleaseConstant(1);
  return packed;
}

const float* LeaveDeadTapsOut(BindContext& context, const GemmTileKernels& tiles, ConvForm form,
                              const Tensor& packed, ConvGeometry& geometry) {
  if (packed.empty()) return nullptr;
  const TapRanges taps = NarrowToLiveTaps(geometry.axes);
  if (taps.empty()) return nullptr;
  const FilterCounts counts = {geometry.group, geometry.filters / geometry.group,
                               geometry.channels / geometry.group};
  float* live = context.NewArray<float>(counts.groups * PackedFilters(tiles, form, counts.filters) *
                                        counts.channels * geometry.kernel_size());
  CopyLiveFilters(tiles, form, packed.data<float>(), counts, taps, live);
  return live;
}

}  // namespace onward::kernels::cpu
