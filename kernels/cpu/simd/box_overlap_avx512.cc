#define ONWARD_TARGET_AVX512
#include "kernels/cpu/simd/box_overlap_inl.h"
