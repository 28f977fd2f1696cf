#include "kernels/cpu/simd/nbits_rows_inl.h"
