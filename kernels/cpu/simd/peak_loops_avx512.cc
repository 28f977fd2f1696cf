#define ONWARD_TARGET_AVX512
#include "kernels/cpu/simd/peak_loops_inl.h"
