#define ONWARD_INT8_TARGET baseline
#include "kernels/cpu/simd/int8_tile_inl.h"
