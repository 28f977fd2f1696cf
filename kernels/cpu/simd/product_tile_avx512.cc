#define ONWARD_TARGET_AVX512
#include "kernels/cpu/simd/product_tile_inl.h"
