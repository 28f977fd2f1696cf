#include "kernels/cpu/simd/scaled_steps_inl.h"
