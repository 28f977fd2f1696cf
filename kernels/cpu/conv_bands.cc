#include "kernels/cpu/conv_bands.h"

#include <algorithm>

#include "kernels/cpu/fast_float.h"

namespace onward::kernels::cpu {
namespace {

int64_t LiveTapsOf(const WindowAxis& rows, const ConvBand& band) {
  int64_t live = 0;
  for (int64_t k = 0; k < rows.kernel; ++k) {
    int64_t begin, end;
    OutputsOfTap(rows, k, &begin, &end);
    live += begin < band.end && end > band.begin ? 1 : 0;
  }
  return live;
}

}  // namespace

TapRanges NarrowToLiveTaps(WindowAxes& axes) {
  TapRanges kept;
  bool any = false;
  for (WindowAxis& axis : axes) {
    TapRange live = {axis.kernel, 0};
    for (int64_t k = 0; k < axis.kernel; ++k) {
      int64_t begin, end;
      OutputsOfTap(axis, k, &begin, &end);
      if (begin < end) live = {std::min(live.begin, k), k + 1};
    }
    if (live.begin >= live.end) live = {0, axis.kernel};
    kept.push_back({live, axis.kernel});
    any |= live.end - live.begin != axis.kernel;
    axis.kernel = live.end - live.begin;
    axis.pad_begin -= live.begin * axis.dilation;
  }
  return any ? kept : TapRanges();
}

absl::InlinedVector<ConvBand, 5> CutWhereTapsChange(const WindowAxis& axis) {
  absl::InlinedVector<int64_t, 8> cuts = {0, axis.output};
  for (int64_t k = 0; k < axis.kernel; ++k) {
    int64_t begin, end;
    OutputsOfTap(axis, k, &begin, &end);
    if (begin < end) cuts.insert(cuts.end(), {begin, end});
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  absl::InlinedVector<ConvBand, 5> bands;
  for (size_t i = 1; i < cuts.size(); ++i) bands.push_back({cuts[i - 1], cuts[i]});
  return bands;
}

absl::InlinedVector<ConvBand, 5> CutIntoBands(const WindowAxes& axes, int64_t lanes) {
  const WindowAxis &rows = axes[0], &columns = axes[1];
  const ConvBand all = {0, rows.output};
  const auto cost = [&](const ConvBand& band) {
    return CeilDiv((band.end - band.begin) * columns.output, lanes) * LiveTapsOf(rows, band);
  };
  const absl::InlinedVector<ConvBand, 5> bands = CutWhereTapsChange(rows);
  int64_t sum = 0;
  for (const ConvBand& band : bands) sum += cost(band);
  if (bands.empty() || sum * 4 > cost(all) * 3) return {all};
  return bands;
}

WindowAxis RowsOfBand(const WindowAxis& rows, const ConvBand& band) {
  WindowAxis axis = rows;
  axis.output = band.end - band.begin;
  axis.pad_begin -= band.begin * axis.stride;
  return axis;
}

}  // namespace onward::kernels::cpu
