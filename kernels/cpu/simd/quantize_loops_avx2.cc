#define ONWARD_TARGET_AVX2
#include "kernels/cpu/simd/quantize_loops_inl.h"
