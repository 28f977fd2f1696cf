#define ONWARD_TARGET_AVX2
#include "kernels/cpu/simd/conv_tile_inl.h"
