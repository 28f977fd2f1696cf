#include "kernels/cpu/simd/peak_loops_inl.h"
