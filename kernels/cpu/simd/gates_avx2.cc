#define ONWARD_TARGET_AVX2
#include "kernels/cpu/simd/gates_inl.h"
