#define ONWARD_TARGET_AVX2
#include "kernels/cpu/simd/row_loops_inl.h"
