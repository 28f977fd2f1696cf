#define ONWARD_TARGET_AVX512
#include "kernels/cpu/simd/quantize_loops_inl.h"
