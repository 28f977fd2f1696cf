#include "kernels/cpu/simd/half_loops_inl.h"
