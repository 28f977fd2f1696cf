#define ONWARD_TARGET_AVX512
#include "kernels/cpu/simd/conv_tile_inl.h"
