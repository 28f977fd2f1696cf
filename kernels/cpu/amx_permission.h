// AMX, whose registers Linux gives only to processes that ask for them.
#pragma once

namespace onward::kernels::cpu {

// Returns whether this process may multiply bytes and bfloat16 on AMX: the processor can, and the
// system has given the permission, which is asked for.
bool MayUseAmx();

}  // namespace onward::kernels::cpu
