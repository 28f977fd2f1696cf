#define ONWARD_TARGET_AVX512
#include "kernels/cpu/simd/winograd_inl.h"
