#include "kernels/cpu/dilated_plan.h"

#include <algorithm>

#include "kernels/cpu/conv_bands.h"
#include "kernels/cpu/conv_plan.h"

namespace onward::kernels::cpu {
namespace {

bool Reaches(const WindowAxis& axis, int64_t tap, int64_t output) {
  int64_t begin, end;
  OutputsOfTap(axis, tap, &begin, &end);
  return begin <= output && output < end;
}

}  // namespace

DilatedPlan PlanDilated(const ConvGeometry& geometry) {
  WindowAxes axes = geometry.axes;
  const TapRanges kept = NarrowToLiveTaps(axes);
  const WindowAxis &rows = axes[0], &columns = axes[1];
  const int64_t first_row = kept.empty() ? 0 : kept[0].range.begin;
  const int64_t first_column = kept.empty() ? 0 : kept[1].range.begin;
  DilatedPlan plan;
  plan.window = WindowOf(axes);
  int64_t first = 0;
  for (const ConvBand& y : CutWhereTapsChange(rows)) {
    for (const ConvBand& x : CutWhereTapsChange(columns)) {
      plan.regions.push_back({y.begin, x.begin, y.end - y.begin, x.end - x.begin, first});
      first += plan.regions.back().outputs();
    }
  }
  std::vector<bool> started(plan.regions.size());
  for (int64_t tap = 0; tap < plan.window.taps(); ++tap) {
    for (size_t i = 0; i < plan.regions.size(); ++i) {
      const DilatedPlan::Region& region = plan.regions[i];
      if (!Reaches(rows, tap / columns.kernel, region.row) ||
          !Reaches(columns, tap % columns.kernel, region.column))
        continue;
      const int64_t filter_tap = (first_row + tap / columns.kernel) * geometry.axes[1].kernel +
                                 first_column + tap % columns.kernel;
      plan.reaches.push_back(
          {tap, static_cast<int64_t>(i), filter_tap, !started[i], plan.products});
      started[i] = true;
      plan.products += region.outputs();
    }
  }
  return plan;
}

bool SavesProducts(const DilatedPlan& plan) {
  const auto starting = std::count_if(plan.reaches.begin(), plan.reaches.end(),
                                      [](const DilatedPlan::Reach& reach) { return reach.starts; });
  const PatchWindow& w = plan.window;
  return starting == std::ssize(plan.regions) &&
         4 * plan.products <= 3 * w.out_h * w.out_w * w.taps();
}

}  // namespace onward::kernels::cpu
