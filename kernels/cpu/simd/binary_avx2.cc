#define ONWARD_TARGET_AVX2
#include "kernels/cpu/simd/binary_inl.h"
