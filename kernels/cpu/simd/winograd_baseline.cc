#include "kernels/cpu/simd/winograd_inl.h"
