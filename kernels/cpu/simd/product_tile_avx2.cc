#define ONWARD_TARGET_AVX2
#include "kernels/cpu/simd/product_tile_inl.h"
