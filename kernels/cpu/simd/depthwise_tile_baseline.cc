#include "kernels/cpu/simd/depthwise_tile_inl.h"
