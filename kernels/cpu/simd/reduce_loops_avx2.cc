#define ONWARD_TARGET_AVX2
#include "kernels/cpu/simd/reduce_loops_inl.h"
