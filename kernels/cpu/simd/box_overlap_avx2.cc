#define ONWARD_TARGET_AVX2
#include "kernels/cpu/simd/box_overlap_inl.h"
