#define ONWARD_INT8_TARGET avx512
#include "kernels/cpu/simd/int8_tile_inl.h"
