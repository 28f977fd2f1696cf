#include "kernels/cpu/simd/unary_inl.h"
