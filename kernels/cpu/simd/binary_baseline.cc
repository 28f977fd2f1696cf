#include "kernels/cpu/simd/binary_inl.h"
