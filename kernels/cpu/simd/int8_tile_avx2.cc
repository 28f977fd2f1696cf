#define ONWARD_INT8_TARGET avx2
#include "kernels/cpu/simd/int8_tile_inl.h"
