#define ONWARD_TARGET_AVX512
#include "kernels/cpu/simd/nbits_rows_inl.h"
