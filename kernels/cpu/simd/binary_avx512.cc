#define ONWARD_TARGET_AVX512
#include "kernels/cpu/simd/binary_inl.h"
