// In place of kernels/cpu/amx_permission.cc: the modelled registers need no permission.
#include "kernels/cpu/amx_permission.h"

namespace onward::kernels::cpu {

bool MayUseAmx() { return true; }

}  // namespace onward::kernels::cpu
