#define ONWARD_TARGET_AVX2
#include "kernels/cpu/simd/pool_plane_inl.h"
