#include "kernels/cpu/simd/attention_row_inl.h"
