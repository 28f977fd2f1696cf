#include "kernels/cpu/simd/quantize_loops_inl.h"
