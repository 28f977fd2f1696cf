#define ONWARD_TARGET_AVX2
#include "kernels/cpu/simd/depthwise_tile_inl.h"
