#define ONWARD_TARGET_AVX512
#include "kernels/cpu/simd/gemm_pack_inl.h"
