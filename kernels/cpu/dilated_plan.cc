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
  const WindowAxis &rows = geometry.axes[0], &columns = geometry.axes[1];
  DilatedPlan plan;
  plan.window = WindowOf(geometry.axes);
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
      plan.reaches.push_back({tap, static_cast<int64_t>(i), !started[i], plan.products});
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
