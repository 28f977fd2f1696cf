#define ONWARD_TARGET_AVX512
#include "kernels/cpu/simd/depthwise_tile_inl.h"
