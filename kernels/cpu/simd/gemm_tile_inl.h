#pragma once

#if defined(ONWARD_TARGET_AVX512BF16)
#include "kernels/cpu/simd/gemm_bf16_inl.h"
#else
#include "kernels/cpu/simd/gemm_float_inl.h"
#endif
