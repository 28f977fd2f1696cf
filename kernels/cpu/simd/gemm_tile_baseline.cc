#include "kernels/cpu/simd/gemm_pack_inl.h"
