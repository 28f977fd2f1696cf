#define ONWARD_TARGET_AVX512
#include "kernels/cpu/simd/attention_row_inl.h"
