#include "kernels/cpu/quantized_filters.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/channels_last.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/int8_pack.h"

namespace onward::kernels::cpu {

FilterRuns RunsOf(int64_t kernel_h, int64_t kernel_w, bool merged, int64_t channels) {
  return merged ? FilterRuns{kernel_h, kernel_w * channels, true}
                : FilterRuns{kernel_h * kernel_w, channels, false};
}

absl::StatusOr<PackedFilters> PackFilters(const Int8TileKernels& tiles, const Tensor& w,
                                          int64_t groups, bool merged) {
  const int64_t filters = w.dims()[0] / groups, channels = w.dims()[1], width = tiles.tile_cols;
  const int64_t taps = NumElements(w.dims(), 2, w.rank()), kernel_w = w.dims().back();
  const int64_t k = channels * taps, panels = CeilDiv(filters, width);
  const FilterRuns runs = RunsOf(taps / kernel_w, kernel_w, merged, channels);
  const int64_t run_bytes = PackedPanelBytes(tiles, runs.elements);
  PackedFilters packed;
  ONWARD_ASSIGN_OR_RETURN(packed.panels,
                          Tensor::Create(DType::kUint8, {groups * panels, runs.count * run_bytes}));
  ONWARD_ASSIGN_OR_RETURN(packed.sums, Tensor::Create(DType::kInt32, {w.dims()[0]}));
  std::fill_n(packed.sums.mutable_data<int32_t>(), w.dims()[0], 0);
  // A panel's filters side by side, by channel and tap, and those of a run.
  ONWARD_ASSIGN_OR_RETURN(Tensor by_channel, Tensor::Create(DType::kUint8, {k, width}));
  ONWARD_ASSIGN_OR_RETURN(Tensor of_run, Tensor::Create(DType::kUint8, {runs.elements, width}));
  ONWARD_ASSIGN_OR_RETURN(Tensor sums, Tensor::Create(DType::kInt32, {width}));
  const ByteSource source = {of_run.data<uint8_t>(), w.dtype() == DType::kInt8,
                             IsShifted(tiles, w.dtype(), false)};
  uint8_t* to = packed.panels.mutable_data<uint8_t>();
  for (int64_t i = 0; i < groups * panels; ++i) {
    const int64_t first = i / panels * filters + i % panels * width;
    const int64_t cols = std::min(width, filters - i % panels * width);
    TransposeBytes(static_cast<const uint8_t*>(w.raw_data()) + first * k, k, cols, k, 0,
                   by_channel.mutable_data<uint8_t>(), width);
    for (int64_t run = 0; run < runs.count; ++run, to += run_bytes) {
      for (int64_t e = 0; e < runs.elements; ++e) {
        const int64_t tap = merged ? run * kernel_w + e / channels : run;
        std::memcpy(of_run.mutable_data<uint8_t>() + e * width,
                    by_channel.data<uint8_t>() + (e % channels * taps + tap) * width,
                    static_cast<size_t>(cols));
      }
      PackBytePanel(tiles, source, width, cols, runs.elements, to, sums.mutable_data<int32_t>());
      for (int64_t c = 0; c < cols; ++c)
        packed.sums.mutable_data<int32_t>()[first + c] += sums.data<int32_t>()[c];
    }
  }
  return packed;
}

}  // namespace onward::kernels::cpu
