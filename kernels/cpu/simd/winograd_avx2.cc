#define ONWARD_TARGET_AVX2
#include "kernels/cpu/simd/winograd_inl.h"
