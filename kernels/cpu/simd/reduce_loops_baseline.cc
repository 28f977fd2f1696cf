#include "kernels/cpu/simd/reduce_loops_inl.h"
