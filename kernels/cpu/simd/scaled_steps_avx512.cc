#define ONWARD_TARGET_AVX512
#include "kernels/cpu/simd/scaled_steps_inl.h"
