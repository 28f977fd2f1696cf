#define ONWARD_TARGET_AVX2
#include "kernels/cpu/simd/optimizer_steps_inl.h"
