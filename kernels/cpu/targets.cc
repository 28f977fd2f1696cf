#include "kernels/cpu/targets.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "kernels/cpu/amx_permission.h"

#if defined(__x86_64__)
#define ONWARD_CPU_HAS(feature) __builtin_cpu_supports(feature)
#else
#define ONWARD_CPU_HAS(feature) false
#endif

namespace onward::kernels::cpu {
namespace {

// The target and those that it implies.
TargetMask WithImplied(Target target) {
  TargetMask mask = MaskOf(target);
  for (; target != Target::kBaseline; target = RowOf(target).implied)
    mask |= MaskOf(RowOf(target).implied);
  return mask;
}

TargetMask Detect() {
#if defined(__x86_64__)
  __builtin_cpu_init();
#endif
#define ONWARD_HAS_TARGET(name, enumerator, implied, architecture, lanes, loops, flags, has, ...) \
  kOn_##architecture && (has),
  const bool has[] = {ONWARD_TARGETS(ONWARD_HAS_TARGET)};
#undef ONWARD_HAS_TARGET
  TargetMask mask = 0;
  for (int i = 0; i < kNumTargets; ++i)  // an implied target stands before
    if (has[i] && (i == 0 || (mask & MaskOf(kTargetRows[i].implied)) != 0))
      mask |= TargetMask{1} << i;
  return mask;
}

std::atomic<TargetMask>& Limit() {
  static std::atomic<TargetMask> limit = [] {
    const char* names = std::getenv("ONWARD_CPU");
    TargetMask mask = 0;
    const bool is_known = names != nullptr && ReadTargets(names, mask).empty();
    return is_known ? mask : ~TargetMask{0};
  }();
  return limit;
}

}  // namespace

TargetMask DetectedTargets() {
  static const TargetMask detected = Detect();
  return detected;
}

TargetMask AllowedTargets() {
  return DetectedTargets() & (Limit().load(std::memory_order_relaxed) | MaskOf(Target::kBaseline));
}

bool HasTargetLimit() { return Limit().load(std::memory_order_relaxed) != ~TargetMask{0}; }

void LimitTargets(TargetMask mask) { Limit().store(mask, std::memory_order_relaxed); }

std::string_view ReadTargets(std::string_view list, TargetMask& mask) {
  mask = 0;
  while (!list.empty()) {
    const size_t end = std::min(list.find(','), list.size());
    const std::string_view name = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    int i = 0;
    while (i < kNumTargets && kTargetRows[i].name != name) ++i;
    if (i == kNumTargets) return name.empty() ? "," : name;
    mask |= WithImplied(static_cast<Target>(i));
  }
  return "";
}

std::string TargetNames(TargetMask mask) {
  std::string names;
  for (int i = 0; i < kNumTargets; ++i) {
    if ((mask >> i & 1) == 0) continue;
    if (!names.empty()) names += ' ';
    names += kTargetRows[i].name;
  }
  return names;
}

Target Widest(TargetMask mask) {
  int last = 0;
  for (int i = 0; i < kNumTargets; ++i)
    if ((mask >> i & 1) != 0) last = i;
  return static_cast<Target>(last);
}

}  // namespace onward::kernels::cpu
