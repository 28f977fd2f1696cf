#define ONWARD_TARGET_AVX2
#include "kernels/cpu/simd/peak_loops_inl.h"
