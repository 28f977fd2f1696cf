// Large products: all threads pack the operands once, block by block, then share them. Pairs of
// bfloat16 need both packed; float32 is read as it lies where a tile's elements of a step are rows
// apart, and packed where they lie side by side, since the steps are then far apart. Smaller
// products are of kernels/cpu/gemm.h, where each chunk packs what it reads.
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
  bool packs_rows = false;
  int64_t row_stride = 0;     // words of a packed row
  int64_t packed_panels = 0;  // where in the scratch they begin
  int64_t scratch = 0;        // floats
};

// Returns whether packing operands of this size is worth a pass of its own. `a_transposed`: A's
// rows lie side by side (GemmArguments::a_row is 1).
bool PacksOnce(const GemmTileKernels& tiles, ColumnsLayout layout, bool a_transposed, int64_t m,
               int64_t n, int64_t k);

SharedPlan PlanShared(const GemmTileKernels& tiles, ColumnsLayout layout, bool a_transposed,
                      int64_t m, int64_t n, int64_t k);

// The product, by all threads of the context. `scratch`: plan.scratch floats.
void RunShared(const GemmTileKernels& tiles, const SharedPlan& plan, const GemmArguments& args,
               float* scratch, const RunContext& context);

}  // namespace onward::kernels::cpu
