#define ONWARD_TARGET_AVX512
#include "kernels/cpu/simd/gates_inl.h"
