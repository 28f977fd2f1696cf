#include "kernels/cpu/simd/pool_plane_inl.h"
