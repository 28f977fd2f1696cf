#include "kernels/cpu/simd/product_tile_inl.h"
