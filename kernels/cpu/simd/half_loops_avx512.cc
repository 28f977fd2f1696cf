#define ONWARD_TARGET_AVX512
#include "kernels/cpu/simd/half_loops_inl.h"
