#define ONWARD_TARGET_AVX512
#include "kernels/cpu/simd/unary_inl.h"
