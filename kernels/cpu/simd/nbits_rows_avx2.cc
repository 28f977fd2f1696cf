#define ONWARD_TARGET_AVX2
#include "kernels/cpu/simd/nbits_rows_inl.h"
