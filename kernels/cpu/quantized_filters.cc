#include "kernels/cpu/quantized_filters.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/int8_pack.h"
#include "kernels/cpu/reference/requantize.h"
#include "kernels/cpu/transpose_bytes.h"

namespace onward::kernels::cpu {

absl::StatusOr<PackedFilters> PackFilters(const Int8TileKernels& tiles, const Tensor& w,
                                          int64_t groups, FilterForm form) {
  const int64_t filters = w.dims()[0] / groups, channels = w.dims()[1], width = tiles.tile_cols;
  const int64_t taps = NumElements(w.dims(), 2, w.rank()), kernel_w = w.dims().back();
  const int64_t k = channels * taps, panels = CeilDiv(filters, width);
  const FilterRuns runs = RunsOf(taps / kernel_w, kernel_w, form, channels);
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
        const int64_t tap = run / runs.per_row * kernel_w + run % runs.per_row + e / channels;
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

absl::StatusOr<PackedFilters> PackDepthwise(const Int8TileKernels& tiles, const Tensor& w,
                                            const Tensor* zeros) {
  const int64_t channels = w.dims()[0], taps = NumElements(w.dims(), 2, w.rank());
  const int64_t width = tiles.tile_cols, panels = CeilDiv(channels, width);
  PackedFilters packed;
  ONWARD_ASSIGN_OR_RETURN(packed.panels, Tensor::Create(DType::kUint8, {panels, taps * width * 4}));
  ONWARD_ASSIGN_OR_RETURN(packed.sums, Tensor::Create(DType::kInt32, {channels}));
  std::memset(packed.panels.raw_mutable_data(), 0, static_cast<size_t>(packed.panels.byte_size()));
  const LineValues<int32_t> zero(zeros == nullptr ? TensorView() : zeros->view());
  auto* to = reinterpret_cast<uint32_t*>(packed.panels.mutable_data<uint8_t>());
  for (int64_t channel = 0; channel < channels; ++channel) {
    int32_t sum = 0;
    for (int64_t tap = 0; tap < taps; ++tap) {
      const uint8_t byte = static_cast<const uint8_t*>(w.raw_data())[channel * taps + tap];
      const int32_t number = ByteNumber(byte, w.dtype() == DType::kInt8) - zero[channel];
      sum += number;
      to[(channel / width * taps + tap) * width + channel % width] =
          static_cast<uint16_t>(static_cast<int16_t>(number));
    }
    packed.sums.mutable_data<int32_t>()[channel] = sum;
  }
  return packed;
}

}  // namespace onward::kernels::cpu
