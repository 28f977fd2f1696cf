#define ONWARD_TARGET_AVX2
#include "kernels/cpu/simd/unary_inl.h"
