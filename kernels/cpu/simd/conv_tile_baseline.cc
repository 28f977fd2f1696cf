#include "kernels/cpu/simd/conv_tile_inl.h"
