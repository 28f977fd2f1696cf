#define ONWARD_TARGET_AVX2
#include "kernels/cpu/simd/half_loops_inl.h"
