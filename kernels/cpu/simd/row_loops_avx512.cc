#define ONWARD_TARGET_AVX512
#include "kernels/cpu/simd/row_loops_inl.h"
