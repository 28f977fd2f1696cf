#include "kernels/cpu/simd/optimizer_steps_inl.h"
