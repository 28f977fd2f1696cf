#define ONWARD_TARGET_AVX512
#include "kernels/cpu/simd/optimizer_steps_inl.h"
