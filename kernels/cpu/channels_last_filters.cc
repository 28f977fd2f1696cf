#include "kernels/cpu/channels_last_filters.h"

#include "kernels/cpu/simd/gemm_tile.h"

namespace onward::kernels::cpu {
namespace {

absl::StatusOr<Tensor> PackDepthwise(int64_t width, const Tensor& w) {
  const int64_t channels = w.dims()[0], taps = NumElements(w.dims(), 2, 4);
  const int64_t panels = CeilDiv(channels, width);
  ONWARD_ASSIGN_OR_RETURN(Tensor packed, Tensor::Create(DType::kFloat32, {panels, taps, width}));
  float* to = packed.mutable_data<float>();
  std::fill_n(to, packed.num_elements(), 0.0f);
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t tap = 0; tap < taps; ++tap)
      to[(c / width * taps + tap) * width + c % width] = w.data<float>()[c * taps + tap];
  }
  return packed;
}

}  // namespace

absl::StatusOr<Tensor> PackChannelsLastFilters(const ChannelsLastProducts& products, Target target,
                                               const Tensor& w, int64_t groups, FilterForm form) {
  const int64_t width = products.sizes.tile_cols;
  if (form == FilterForm::kDepthwise) return PackDepthwise(width, w);
  const int64_t filters = w.dims()[0] / groups, channels = w.dims()[1];
  const int64_t taps = NumElements(w.dims(), 2, 4), kernel_w = w.dims()[3];
  const int64_t k = channels * taps, panels = CeilDiv(filters, width);
  const int64_t unit_channels = products.sizes.unit;
  const int64_t padded = ChannelsOfUnits(products.sizes, channels);
  const FilterRuns runs = RunsOf(w.dims()[2], kernel_w, form, padded);
  const PanelUnits units = UnitsOfPanel(products, runs.elements);
  const int64_t whole = units.last == INT64_MAX ? units.padded : units.padded - products.step_units;
  ONWARD_ASSIGN_OR_RETURN(
      Tensor packed,
      Tensor::Create(DType::kFloat32, {groups * panels, runs.count, units.padded, width}));
  // The filters of a panel side by side, by channel and tap.
  const GemmTileKernels& floats = kGemmTilesPerTarget.For(target)();
  ONWARD_ASSIGN_OR_RETURN(Tensor side_by_side, Tensor::Create(DType::kFloat32, {k, width}));
  const float* from = side_by_side.data<float>();
  float* to = packed.mutable_data<float>();
  for (int64_t i = 0; i < groups * panels; ++i) {
    const int64_t first = i / panels * filters + i % panels * width;
    const int64_t cols = std::min(width, filters - i % panels * width);
    floats.pack_columns_transposed(w.data<float>() + first * k, k, static_cast<int>(cols), k, 1.0f,
                                   side_by_side.mutable_data<float>());
    for (int64_t run = 0; run < runs.count; ++run) {
      const int64_t run_tap = run / runs.per_row * kernel_w + run % runs.per_row;
      for (int64_t unit = 0; unit < units.padded; ++unit, to += width) {
        const int64_t place = unit < whole ? unit : units.last + unit - whole;  // in the run
        if (unit >= whole && place < whole) {
          std::fill_n(to, width, 0.0f);
          continue;
        }
        const int64_t element = unit_channels * place;
        const int64_t channel = element % padded, tap = run_tap + element / padded;
        const float* lower = from + (channel * taps + tap) * width;
        products.pack_unit(lower, channel + 1 < channels ? lower + taps * width : nullptr, to);
      }
    }
  }
  return packed;
}

}  // namespace onward::kernels::cpu
