#define ONWARD_TARGET_AVX512
#include "kernels/cpu/simd/pool_plane_inl.h"
