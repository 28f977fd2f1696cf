// Large products of pairs of bfloat16: all threads pack the operands once, block by block, then
// share them. Smaller ones are of kernels/cpu/gemm.h, where each chunk packs what it reads.
#pragma once

#include "kernels/cpu/gemm.h"
#include "onward/kernel.h"

namespace onward::kernels::cpu {

// Depends on sizes alone.
struct SharedPlan {
  int64_t m = 0, n = 0, k = 0;
  ColumnsLayout layout = ColumnsLayout::kRows;
  int64_t row_tiles = 0;        // along m, of equal size but for one row
  int64_t tiles_per_group = 0;  // whose rows are packed together
  int64_t groups = 0;
  int64_t panels = 0;
  int64_t groups_per_block = 0, panels_per_block = 0;
  int64_t panels_per_chunk = 0;
  int64_t k_block = 0;
  int64_t row_stride = 0;     // words of a packed row
  int64_t packed_panels = 0;  // where in the scratch they begin
  int64_t scratch = 0;        // floats
};

// Returns whether packing operands of this size is worth a pass of its own.
bool PacksOnce(const GemmTileKernels& tiles, int64_t m, int64_t n, int64_t k);

SharedPlan PlanShared(const GemmTileKernels& tiles, ColumnsLayout layout, int64_t m, int64_t n,
                      int64_t k);

// The product, by all threads of the context. `scratch`: plan.scratch floats.
void RunShared(const GemmTileKernels& tiles, const SharedPlan& plan, const GemmArguments& args,
               float* scratch, const RunContext& context);

}  // namespace onward::kernels::cpu
