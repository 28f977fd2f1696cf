#include "kernels/cpu/simd/gates_inl.h"
