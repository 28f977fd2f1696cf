#define ONWARD_TARGET_AVX512
#include "kernels/cpu/simd/reduce_loops_inl.h"
