#include "kernels/cpu/amx_permission.h"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace onward::kernels::cpu {

#if defined(__x86_64__) && defined(__linux__)
namespace {

// CPUID leaf 1, ECX: XGETBV may be read. Leaf 7, EDX: AMX-BF16, AMX-TILE, AMX-INT8.
constexpr unsigned kOsXSave = 1u << 27;
constexpr unsigned kAmx = 1u << 22 | 1u << 24 | 1u << 25;
// Tile configuration and tile data in XCR0.
constexpr unsigned kTileState = 1u << 17 | 1u << 18;
// linux/Documentation/arch/x86/xstate.rst; older headers lack the names.
constexpr int kArchReqXcompPerm = 0x1023, kTileData = 18;

}  // namespace

bool MayUseAmx() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || (ecx & kOsXSave) == 0) return false;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0 || (edx & kAmx) != kAmx) return false;
  unsigned low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  if ((low & kTileState) != kTileState) return false;
  return syscall(SYS_arch_prctl, kArchReqXcompPerm, kTileData) == 0;
}
#else
bool MayUseAmx() { return false; }
#endif

}  // namespace onward::kernels::cpu
