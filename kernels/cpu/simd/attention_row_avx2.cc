#define ONWARD_TARGET_AVX2
#include "kernels/cpu/simd/attention_row_inl.h"
