#include "kernels/cpu/simd/row_loops_inl.h"
