#define ONWARD_TARGET_AVX2
#include "kernels/cpu/simd/scaled_steps_inl.h"
