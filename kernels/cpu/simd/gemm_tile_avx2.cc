#define ONWARD_TARGET_AVX2
#include "kernels/cpu/simd/gemm_pack_inl.h"
