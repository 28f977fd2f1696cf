#include "kernels/cpu/simd/box_overlap_inl.h"
